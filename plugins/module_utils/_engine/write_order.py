# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The order of writes: each object after its references, and after kinds that it depends on."""

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
"""Kinds that neither start anything nor refer to other objects."""
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
"""Kinds that start nothing, and depend only on their references."""
_WORKLOADS = frozenset((ON_NODES, "Deployment", "StatefulSet"))
"""Their controllers retry when a pod is not admitted."""
_NO_PART_OF_PODS = _BINDINGS | _POINTERS | _WORKLOADS | {"Service"}


class Turn(t.NamedTuple):
    """An object to write.

    ``refers``: its direct and indirect references. ``waits``: the objects to write before it.
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
    """Whether objects of a kind wait until objects of the kind ``before`` are written."""
    if kind in _INERT or kind in _POINTERS:
        return False
    if kind in _BINDINGS:
        return before in _ROLES
    return kind not in _WORKLOADS or before not in _NO_PART_OF_PODS
