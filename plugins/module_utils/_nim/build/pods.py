# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Common parts of both pods of a NIMBuild: the cache's volume and user, and scheduling."""

from __future__ import annotations

import typing as t

from ..._base.types import Json, Manifest
from ..._builders.pod import (
    container_security,
    pod_security,
    pull_secrets,
    seccomp,
    without_empty,
)
from ..._engine.api_resources import manifest
from ..._engine.metadata import owner_reference
from ..cache_spec import CacheSpec, parse_cache
from ..cache_versions import served_view
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
    """Build a pod that runs ``container`` once on the cache's volume.

    ``metadata``: labels and annotations.
    """
    spec, cached = app.spec, parse_cache(served_view(cache))
    claim = {"claimName": cached.claim.name}
    return manifest(
        "Pod",
        name,
        app.namespace,
        metadata={**metadata, "ownerReferences": [owner_reference(app.resource)]},
        spec={
            "restartPolicy": "Never",
            "securityContext": pod_security(cached.user, cached.group) | seccomp(orchestrator),
            "containers": [_complete(app, cached, container)],
            "volumes": [{"name": _VOLUME, "persistentVolumeClaim": claim}],
        }
        | without_empty(
            {
                "imagePullSecrets": pull_secrets(spec.image.pull_secrets),
                "runtimeClassName": cached.runtime_class,
                "tolerations": spec.tolerations,
                "nodeSelector": spec.node_selector,
            }
        ),
    )


def _complete(app: NIMBuildApp, cached: CacheSpec, container: t.Mapping[str, t.Any]) -> Json:
    sub_path = without_empty({"subPath": cached.claim.sub_path})
    return {
        **container,
        "image": app.spec.image.reference,
        "securityContext": container_security(cached.user, cached.group),
        "volumeMounts": [{"name": _VOLUME, "mountPath": STORE} | sub_path],
    }
