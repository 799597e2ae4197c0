# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.pod_rows import (
    MAX_PODS,
    is_unready,
    unready_names,
)

COLUMNS = ("Name", "Ready", "Status", "Restarts", "Age", "Node")


def table(*rows):
    return {
        "columnDefinitions": [{"name": name} for name in COLUMNS],
        "rows": [{"cells": [*cells, "1m", "gpu-0"], "object": None} for cells in rows],
    }


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1/1", "Running", 0), False),
        (("2/2", "Running", "3 (2h ago)"), False),
        (("1/2", "Running", 0), False),
        (("1/2", "Running", "1 (9s ago)"), True),
        (("0/1", "ContainerCreating", 0), False),
        (("0/1", "ContainerCreating", "1 (9s ago)"), True),
        (("0/1", "Init:0/2", 0), False),
        (("0/1", "Init:0/2", 2), True),
        (("0/1", "Init:ImagePullBackOff", 0), True),
        (("0/1", "Pending", 0), True),
        (("1/1", "Terminating", 0), True),
        (("0/1", "CrashLoopBackOff", "4 (8s ago)"), True),
    ],
)
def test_unready_names(cells, expected):
    assert unready_names(table(("a", *cells))) == (["a"] if expected else [])


def test_unready_names_one_per_state_first():
    starting = [(f"a{number}", "0/1", "Pending", 0) for number in range(200)]
    rest = [
        ("b", "0/1", "ImagePullBackOff", 0),
        ("c", "0/1", "Running", "2 (5s ago)"),
        ("d", "0/1", "Running", "7 (9s ago)"),
    ]
    assert unready_names(table(*starting, *rest)) == ["a0", "b", "c", "a1", "d"]
    assert len(unready_names(table(*starting))) == MAX_PODS


def test_unready_names_without_columns():
    assert unready_names({}) == []
    assert unready_names({"rows": [{"cells": []}]}) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, True),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, True),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, False),
    ],
)
def test_is_unready(status, expected):
    assert is_unready({"metadata": {"name": "a"}, "status": status}) is expected
