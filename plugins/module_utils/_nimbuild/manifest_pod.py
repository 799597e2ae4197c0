# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The pod that prints the manifest of what was built, and the ConfigMap that keeps it."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    MAX_KEPT,
    NOT_FOUND,
    ModelManifest,
    dump_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest_pod import print_command
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import operator_labels
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    MANIFEST_CONTAINER,
    MANIFEST_KEY,
    Resource,
    cache_name,
    manifest_pod_name,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.pods import STORE, build_pod

LOCAL_MANIFEST = f"{STORE}/local_cache/local_manifest.yaml"

_FIND = f"""\
if [ -f {LOCAL_MANIFEST} ]; then
  show {LOCAL_MANIFEST}
else
  echo '{NOT_FOUND}'
fi
"""


def build_manifest_pod(cr: Resource, cache: Manifest, orchestrator: str) -> Manifest:
    """The pod; it runs in the image that built."""
    is_openshift = orchestrator == "OpenShift"
    metadata = {
        "labels": operator_labels(name_of(cr)),
        "annotations": {"openshift.io/required-scc": "nonroot"}
        if is_openshift
        else {"sidecar.istio.io/inject": "false"},
    }
    container = {"name": MANIFEST_CONTAINER, "command": print_command(_FIND)}
    return build_pod(
        cr, cache, orchestrator, manifest_pod_name(cr), metadata=metadata, container=container
    )


def add_manifest(cr: Resource, live: Manifest, built: ModelManifest) -> Manifest:
    """The cache's ConfigMap with what was built; all else in it stays the cache's.

    NimError if it cannot hold both.
    """
    meta, data = live["metadata"], {**(live.get("data") or {}), MANIFEST_KEY: dump_manifest(built)}
    if (size := sum(len(text.encode()) for text in data.values())) > MAX_KEPT:
        raise NimError(
            f"ConfigMap {meta['name']} cannot hold the manifest of the build: it would have {size}"
            f" bytes, where at most {MAX_KEPT} are taken (delete keys of it that nothing uses)",
            reason="ManifestTooLarge",
        )
    return manifest(
        "ConfigMap",
        meta["name"],
        meta["namespace"],
        metadata={
            "labels": {**(meta.get("labels") or {}), "app": cache_name(cr)},
            "ownerReferences": meta.get("ownerReferences") or None,
        },
        data=data,
    )
