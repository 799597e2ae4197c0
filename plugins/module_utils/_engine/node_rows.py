# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes as rows of the API server's table, with their metadata.

A whole node has kilobytes of images and addresses; reading a thousand of them in each pass would
cost more than all other reads.
"""

from __future__ import annotations

from .._base.types import Fields, Manifest
from .conditions import find_condition

_STATUS, _RUNTIME = "Status", "Container-Runtime"
_CORDONED = "SchedulingDisabled"
_SHOWN = ("name", "uid", "resourceVersion", "labels", "annotations", "creationTimestamp")


def nodes_of_table(table: Fields) -> list[Manifest]:
    """The nodes of a table, each with metadata, unschedulable, Ready, and the container runtime."""
    columns = [str(column.get("name")) for column in table.get("columnDefinitions") or []]
    return [
        _node(row["object"]["metadata"], dict(zip(columns, row.get("cells") or [], strict=False)))
        for row in table.get("rows") or []
    ]


def row_of_node(node: Fields) -> Manifest:
    """A whole node, reduced to the content of its table row."""
    status = node.get("status") or {}
    ready = find_condition(status.get("conditions"), "Ready") or {}
    words = ["Ready" if ready.get("status") == "True" else "NotReady"]
    if (node.get("spec") or {}).get("unschedulable"):
        words.append(_CORDONED)
    runtime = (status.get("nodeInfo") or {}).get("containerRuntimeVersion") or ""
    return _node(node["metadata"], {_STATUS: ",".join(words), _RUNTIME: runtime})


def _node(metadata: Manifest, cells: Fields) -> Manifest:
    words = str(cells.get(_STATUS) or "").split(",")
    ready = {"type": "Ready", "status": "True" if "Ready" in words else "False"}
    return {
        "metadata": {key: metadata[key] for key in _SHOWN if key in metadata},
        "spec": {"unschedulable": True} if _CORDONED in words else {},
        "status": {
            "conditions": [ready],
            "nodeInfo": {"containerRuntimeVersion": str(cells.get(_RUNTIME) or "")},
        },
    }
