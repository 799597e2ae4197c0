# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod that prints the manifest of the built engine, and the ConfigMap that stores it."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.api_resources import manifest
from ..._engine.created_once import marks_of
from ..._engine.metadata import operator_labels
from ..profiles.manifest_pod import print_command
from ..profiles.model_manifest import MAX_KEPT, NOT_FOUND, ModelManifest, dump_manifest
from .app import NIMBuildApp
from .constants import MANIFEST_CONTAINER, MANIFEST_KEY
from .pods import STORE, build_pod

LOCAL_MANIFEST = f"{STORE}/local_cache/local_manifest.yaml"

_FIND = f"""\
if [ -f {LOCAL_MANIFEST} ]; then
  show {LOCAL_MANIFEST}
else
  echo '{NOT_FOUND}'
fi
"""


def build_manifest_pod(app: NIMBuildApp, cache: Manifest, orchestrator: str) -> Manifest:
    """Build the pod, with the image that built the engine."""
    is_openshift = orchestrator == "OpenShift"
    more = (
        {"openshift.io/required-scc": "nonroot"}
        if is_openshift
        else {"sidecar.istio.io/inject": "false"}
    )
    metadata = {
        "labels": operator_labels(app.name),
        "annotations": {**marks_of(app.resource), **more},
    }
    container = {"name": MANIFEST_CONTAINER, "command": print_command(_FIND)}
    return build_pod(
        app, cache, orchestrator, app.manifest_pod_name, metadata=metadata, container=container
    )


def add_manifest(app: NIMBuildApp, live: Manifest, built: ModelManifest) -> Manifest:
    """The cache's ConfigMap plus the built engine's manifest; NimError if it gets too large."""
    meta, data = live["metadata"], {**(live.get("data") or {}), MANIFEST_KEY: dump_manifest(built)}
    if (size := sum(len(text.encode()) for text in data.values())) > MAX_KEPT:
        raise NimError(
            f"ConfigMap {meta['name']} cannot hold the manifest of the build: it would have {size}"
            f" bytes, and the maximum is {MAX_KEPT} (delete unused keys of it)",
            reason="ManifestTooLarge",
        )
    return manifest(
        "ConfigMap",
        meta["name"],
        meta["namespace"],
        metadata={
            "labels": {**(meta.get("labels") or {}), "app": app.spec.cache_name},
            "ownerReferences": meta.get("ownerReferences") or None,
        },
        data=data,
    )
