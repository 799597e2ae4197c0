# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What both pods of a NIMBuild have: the cache's volume and its user, the spec's placement."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import (
    container_security,
    image_reference,
    pod_security,
    pull_secrets,
    seccomp,
    without_empty,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import manifest
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import Resource

STORE = "/model-store"
_VOLUME = "nim-cache-volume"

Json = dict[str, t.Any]


def build_pod(
    cr: Resource,
    cache: Manifest,
    orchestrator: str,
    name: str,
    *,
    metadata: t.Mapping[str, t.Any],
    container: t.Mapping[str, t.Any],
) -> Manifest:
    """A pod that runs ``container`` on the cache, once; ``metadata``: labels and annotations."""
    spec, cached = cr["spec"], cache["spec"]
    claim = {"claimName": claim_name(cache)}
    return manifest(
        "Pod",
        name,
        cr["metadata"]["namespace"],
        metadata={**metadata, "ownerReferences": [owner_reference(cr)]},
        spec={
            "restartPolicy": "Never",
            "securityContext": pod_security(cached) | seccomp(orchestrator),
            "containers": [_complete(cr, cache, container)],
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


def _complete(cr: Resource, cache: Manifest, container: t.Mapping[str, t.Any]) -> Json:
    pvc = (cache["spec"].get("storage") or {}).get("pvc") or {}
    sub_path = without_empty({"subPath": pvc.get("subPath")})
    return {
        **container,
        "image": image_reference(cr["spec"]["image"]),
        "securityContext": container_security(cache["spec"]),
        "volumeMounts": [{"name": _VOLUME, "mountPath": STORE} | sub_path],
    }
