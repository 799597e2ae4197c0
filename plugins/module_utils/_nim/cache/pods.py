# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Common parts of the probe pod and the Job's pods."""

from __future__ import annotations

from ..._base.types import Json
from ..._builders.pod import without_empty
from .app import NIMCacheApp
from .constants import SERVICE_ACCOUNT
from .source import source_of

_GPU_NODES = {"feature.node.kubernetes.io/pci-10de.present": "true"}


def resources_of(app: NIMCacheApp) -> Json:
    """Requests and limits: `spec.resources`, zero where unset."""
    amounts = app.spec.amounts
    return {"limits": dict(amounts), "requests": dict(amounts)}


def placement(app: NIMCacheApp) -> Json:
    """ServiceAccount, pull Secret and scheduling. An empty `spec.nodeSelector` means any node."""
    spec = app.spec
    selector = spec.node_selector
    return {
        "serviceAccountName": SERVICE_ACCOUNT,
        "imagePullSecrets": [{"name": source_of(app).pull_secret}],
    } | without_empty(
        {
            "runtimeClassName": spec.runtime_class,
            "tolerations": spec.tolerations,
            "nodeSelector": _GPU_NODES if selector is None else dict(selector),
        }
    )
