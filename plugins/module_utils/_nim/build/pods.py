# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What both pods of a NIMBuild share: the cache's volume and its user, the spec's scheduling."""

from __future__ import annotations

import typing as t

from ..._base.types import Json, Manifest
from ..._builders.pod import (
    container_security,
    image_reference,
    pod_security,
    pull_secrets,
    seccomp,
    without_empty,
)
from ..._builders.pvc import pvc_name
from ..._engine.api_resources import manifest
from ..._engine.metadata import owner_reference
from .app import NIMBuildApp

STORE = "/model-store"
_VOLUME = "nim-cache-volume"


def build_pod(
    app: NIMBuildApp,
    cache: Manifest,
    orchestrator: str,
    name: str,
    *,
    metadata: t.Mapping[str, t.Any],
    container: t.Mapping[str, t.Any],
) -> Manifest:
    """A pod that runs ``container`` on the cache, once; ``metadata``: labels and annotations."""
    spec, cached = app.spec, cache["spec"]
    claim = {"claimName": pvc_name(cache)}
    return manifest(
        "Pod",
        name,
        app.namespace,
        metadata={**metadata, "ownerReferences": [owner_reference(app.resource)]},
        spec={
            "restartPolicy": "Never",
            "securityContext": pod_security(cached) | seccomp(orchestrator),
            "containers": [_complete(app, cache, container)],
            "volumes": [{"name": _VOLUME, "persistentVolumeClaim": claim}],
        }
        | without_empty(
            {
                "imagePullSecrets": pull_secrets(spec["image"].get("pullSecrets")),
                "runtimeClassName": cached.get("runtimeClassName"),
                "tolerations": spec.get("tolerations"),
                "nodeSelector": spec.get("nodeSelector"),
            }
        ),
    )


def _complete(app: NIMBuildApp, cache: Manifest, container: t.Mapping[str, t.Any]) -> Json:
    pvc = (cache["spec"].get("storage") or {}).get("pvc") or {}
    sub_path = without_empty({"subPath": pvc.get("subPath")})
    return {
        **container,
        "image": image_reference(app.spec["image"]),
        "securityContext": container_security(cache["spec"]),
        "volumeMounts": [{"name": _VOLUME, "mountPath": STORE} | sub_path],
    }
