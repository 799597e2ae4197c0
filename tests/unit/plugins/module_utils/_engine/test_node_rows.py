# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.node_rows import (
    nodes_of_table,
    row_of_node,
)

COLUMNS = ("Name", "Status", "Roles", "OS-Image", "Kernel-Version", "Container-Runtime")


def table(*rows):
    return {
        "columnDefinitions": [{"name": name} for name in COLUMNS],
        "rows": [
            {"cells": cells, "object": {"metadata": {"name": cells[0], "managedFields": [{}]}}}
            for cells in rows
        ],
    }


def whole(status="True", runtime="containerd://2.1", **spec):
    return {
        "metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": [{}]},
        "spec": spec,
        "status": {
            "conditions": [{"type": "Ready", "status": status}],
            "nodeInfo": {"containerRuntimeVersion": runtime},
            "images": [{}],
        },
    }


@pytest.mark.parametrize(
    ("status", "is_ready", "is_cordoned"),
    [
        ("Ready", True, False),
        ("Ready,SchedulingDisabled", True, True),
        ("NotReady", False, False),
        ("NotReady,SchedulingDisabled", False, True),
        ("Unknown", False, False),
    ],
)
def test_nodes_of_table_state_and_runtime(status, is_ready, is_cordoned):
    (node,) = nodes_of_table(table(["a", status, "<none>", "Debian", "6.8", "cri-o://1.33"]))
    assert node == {
        "metadata": {"name": "a"},
        "spec": {"unschedulable": True} if is_cordoned else {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True" if is_ready else "False"}],
            "nodeInfo": {"containerRuntimeVersion": "cri-o://1.33"},
        },
    }


def test_nodes_of_table_without_columns():
    found = nodes_of_table({"rows": [{"cells": [], "object": {"metadata": {"name": "a"}}}]})
    assert found[0]["status"]["nodeInfo"] == {"containerRuntimeVersion": ""}
    assert nodes_of_table({}) == []


@pytest.mark.parametrize(
    ("node", "status"),
    [
        (whole(), "Ready"),
        (whole("False"), "NotReady"),
        (whole("Unknown", unschedulable=True), "NotReady,SchedulingDisabled"),
    ],
)
def test_row_of_node_like_table(node, status):
    (row,) = nodes_of_table(table(["a", status, "", "", "", "containerd://2.1"]))
    assert row_of_node(node) == {**row, "metadata": {"name": "a", "labels": {"x": "y"}}}


def test_row_of_node_without_status():
    assert row_of_node({"metadata": {"name": "a"}})["status"]["conditions"][0]["status"] == "False"
