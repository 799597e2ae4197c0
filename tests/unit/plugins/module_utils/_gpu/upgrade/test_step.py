# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import Node
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.step import (
    NodeStep,
    Step,
    switch_off,
)

WAS = labels.WAS_CORDONED.replace("/", "__")


@pytest.mark.parametrize(
    ("state", "annotations", "expected"),
    [
        pytest.param(states.DONE, {}, "cordoned", id="done, cordoned by a user"),
        pytest.param(states.REQUIRED, {}, "cordoned", id="not begun"),
        pytest.param(states.REQUIRED, {WAS: "true"}, "cordoned", id="not begun, marked"),
        *[pytest.param(state, {}, "uncordoned", id=state) for state in states.RUNNING],
        *[
            pytest.param(state, {WAS: "true"}, "cordoned", id=f"{state}, cordoned before")
            for state in states.RUNNING
        ],
    ],
)
def test_switch_off(gpu, state, annotations, expected):
    marks = {labels.SINCE.replace("/", "__"): "x", labels.WHY.replace("/", "__"): "y"}
    node = gpu.node("n", state, cordoned=True, **annotations, **marks)
    (patch,) = switch_off([Node(node), Node(gpu.node("other"))]).patches
    body = merge_patch_of(patch)
    assert body["metadata"]["labels"] == {labels.STATE: None}
    assert set(body["metadata"]["annotations"].values()) == {None}
    assert labels.SINCE in body["metadata"]["annotations"]
    assert (labels.WAS_CORDONED in body["metadata"]["annotations"]) is bool(annotations)
    assert body.get("spec", "") == ({"unschedulable": None} if expected == "uncordoned" else "")


def test_switch_off_twice(gpu):
    assert switch_off([Node(gpu.node("n", cordoned=True))]).patches == []


def test_step_is_over(gpu):
    quiet = NodeStep(Node(gpu.node("n", states.DONE)), states.DONE)
    waiting = NodeStep(Node(gpu.node("n", states.REQUIRED)), states.REQUIRED, waits="its turn")
    moving = NodeStep(Node(gpu.node("n", states.REQUIRED)), states.CORDON)
    assert Step((quiet,)).is_over
    assert not Step((waiting,)).is_over
    assert not Step((moving,)).is_over


def test_short(gpu):
    step = NodeStep(Node(gpu.node("n", states.DRAIN)), states.DRAIN)
    step.fail("x" * 10_000 + "\x00", 1)
    assert step.annotations[labels.WHY] == "x" * 500
