# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods and nodes without credentials, and without large fields that are not needed.

The environment of a pod may contain tokens, and the status of a node lists all its images.
"""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Manifest

_POD_FIELDS = ("nodeName", "nodeSelector", "resourceClaims", "tolerations")
_CONTAINER_FIELDS = ("name", "resources")
_NODE_FIELDS = ("unschedulable", "taints")
_NODE_STATUS_FIELDS = ("allocatable", "capacity", "conditions")


def redact(kind: str, found: Manifest) -> Manifest:
    """The redacted object; only kinds Pod and Node are redacted."""
    spec, status = found.get("spec") or {}, found.get("status") or {}
    if kind == "Pod":
        return {"metadata": found["metadata"], "spec": _redact_pod(spec), "status": status}
    if kind == "Node":
        return {
            "metadata": found["metadata"],
            "spec": _only(spec, _NODE_FIELDS),
            "status": _only(status, _NODE_STATUS_FIELDS),
        }
    return found


def _redact_pod(spec: Manifest) -> Manifest:
    kept = _only(spec, _POD_FIELDS)
    for field in ("initContainers", "containers"):
        if spec.get(field):
            kept[field] = [_only(item, _CONTAINER_FIELDS) for item in spec[field]]
    volumes = [
        {"name": item.get("name"), "emptyDir": {}}
        for item in spec.get("volumes") or []
        if item.get("emptyDir") is not None
    ]
    return kept | ({"volumes": volumes} if volumes else {})


def _only(fields: Fields, names: t.Iterable[str]) -> Manifest:
    return {name: fields[name] for name in names if name in fields}
