# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods and nodes without what may hold credentials, and without what is large and of no use.

A pod's environment may hold tokens, and a node's status lists all its images.
"""

from __future__ import annotations

import typing as t

from .._base.types import Manifest

_OF_POD = ("nodeName", "nodeSelector", "resourceClaims", "tolerations")
_OF_CONTAINER = ("name", "resources")
_OF_NODE = ("unschedulable", "taints")
_OF_NODE_STATUS = ("allocatable", "conditions")


def redact(kind: str, found: Manifest) -> Manifest:
    """The outline of an object; objects of other kinds than Pod and Node are left whole."""
    spec, status = found.get("spec") or {}, found.get("status") or {}
    if kind == "Pod":
        return {"metadata": found["metadata"], "spec": _redact_pod(spec), "status": status}
    if kind == "Node":
        return {
            "metadata": found["metadata"],
            "spec": _only(spec, _OF_NODE),
            "status": _only(status, _OF_NODE_STATUS),
        }
    return found


def _redact_pod(spec: Manifest) -> Manifest:
    kept = _only(spec, _OF_POD)
    for field in ("initContainers", "containers"):
        if spec.get(field):
            kept[field] = [_only(item, _OF_CONTAINER) for item in spec[field]]
    volumes = [
        {"name": item.get("name"), "emptyDir": {}}
        for item in spec.get("volumes") or []
        if item.get("emptyDir") is not None
    ]
    return kept | ({"volumes": volumes} if volumes else {})


def _only(fields: t.Mapping[str, t.Any], names: t.Iterable[str]) -> Manifest:
    return {name: fields[name] for name in names if name in fields}
