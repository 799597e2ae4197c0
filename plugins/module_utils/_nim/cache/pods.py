# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Parts that the probe pod and the pods of the Job share."""

from __future__ import annotations

from ..._base.types import Json
from ..._builders.pod import without_empty
from .app import NIMCacheApp
from .names import SERVICE_ACCOUNT
from .source import source_of

_GPU_NODES = {"feature.node.kubernetes.io/pci-10de.present": "true"}


def resources_of(app: NIMCacheApp) -> Json:
    """Requests and limits: `spec.resources`, zero where unset."""
    given = app.spec.get("resources") or {}
    amounts = {name: str(given.get(name) or "0") for name in ("cpu", "memory")}
    return {"limits": amounts, "requests": dict(amounts)}


def placement(app: NIMCacheApp) -> Json:
    """ServiceAccount, pull Secret and scheduling. An empty `spec.nodeSelector` means any node."""
    spec = app.spec
    selector = spec.get("nodeSelector")
    return {
        "serviceAccountName": SERVICE_ACCOUNT,
        "imagePullSecrets": [{"name": source_of(app).get("pullSecret") or ""}],
    } | without_empty(
        {
            "runtimeClassName": spec.get("runtimeClassName"),
            "tolerations": spec.get("tolerations"),
            "nodeSelector": _GPU_NODES if selector is None else dict(selector),
        }
    )
