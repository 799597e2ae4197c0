# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The order in which objects are written: each after what it refers to, and what its kind needs."""

from __future__ import annotations

import typing as t

from .._base.types import Json
from .api_resources import ObjectKey, identity
from .references import find_needed, in_order

ON_NODES = "DaemonSet"
"""Written last: while hundreds of their pods start, each write takes a tenth of a second."""

_ROLES = frozenset(("ClusterRole", "Role"))
_BINDINGS = frozenset(("ClusterRoleBinding", "RoleBinding"))
_INERT = _ROLES | {
    "ConfigMap",
    "PersistentVolumeClaim",
    "RuntimeClass",
    "Secret",
    "Service",
    "ServiceAccount",
}
"""Neither start nor name anything."""
_POINTERS = frozenset(
    (
        "GRPCRoute",
        "HTTPRoute",
        "HorizontalPodAutoscaler",
        "InferencePool",
        "Ingress",
        "ServiceMonitor",
    )
)
"""Start nothing: each needs what it refers to."""
_WORKLOADS = frozenset((ON_NODES, "Deployment", "StatefulSet"))
"""Their controllers retry when a pod is not admitted."""
_NO_PART_OF_PODS = _BINDINGS | _POINTERS | _WORKLOADS | {"Service"}


class Turn(t.NamedTuple):
    """An object to write.

    ``refers``: what it refers to, directly or not. ``waits``: what is written before it.
    """

    manifest: Json
    refers: list[ObjectKey]
    waits: list[ObjectKey]


def turns(manifests: t.Sequence[Json]) -> list[Turn]:
    """The objects in the order to write them."""
    needed = find_needed(manifests) if len(manifests) > 1 else {}
    found: list[Turn] = []
    before: list[ObjectKey] = []
    for item in in_order(manifests, needed):
        key = identity(item)
        refers = needed.get(key, [])
        waits = [other for other in before if other in refers or _needs(key.kind, other.kind)]
        found.append(Turn(item, refers, waits))
        before.append(key)
    return found


def _needs(kind: str, before: str) -> bool:
    """Whether an object of a kind is written only when those of another before it are there."""
    if kind in _INERT or kind in _POINTERS:
        return False
    if kind in _BINDINGS:
        return before in _ROLES
    return kind not in _WORKLOADS or before not in _NO_PART_OF_PODS
