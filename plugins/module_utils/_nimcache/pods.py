# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pieces that the probe pod and the pods of the Job share."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.pods import without_empty
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import source_of
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    SERVICE_ACCOUNT,
    Resource,
)

_GPU_NODES = {"feature.node.kubernetes.io/pci-10de.present": "true"}

Json = dict[str, t.Any]


def resources_of(cr: Resource) -> Json:
    """Requests and limits: `spec.resources`, zero where unset."""
    given = cr["spec"].get("resources") or {}
    amounts = {name: str(given.get(name) or "0") for name in ("cpu", "memory")}
    return {"limits": amounts, "requests": dict(amounts)}


def placement(cr: Resource) -> Json:
    """Account, image secret and where to run. An empty `spec.nodeSelector` means any node."""
    spec = cr["spec"]
    selector = spec.get("nodeSelector")
    return {
        "serviceAccountName": SERVICE_ACCOUNT,
        "imagePullSecrets": [{"name": source_of(cr).get("pullSecret") or ""}],
    } | without_empty(
        {
            "runtimeClassName": spec.get("runtimeClassName"),
            "tolerations": spec.get("tolerations"),
            "nodeSelector": _GPU_NODES if selector is None else dict(selector),
        }
    )
