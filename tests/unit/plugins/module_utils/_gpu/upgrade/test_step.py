# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import names
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.scene import (
    Node,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.step import (
    NodeStep,
    Step,
    switch_off,
)

WAS = names.WAS_CORDONED.replace("/", "__")


@pytest.mark.parametrize(
    ("state", "annotations", "expected"),
    [
        pytest.param(names.DONE, {}, "cordoned", id="done, cordoned by somebody"),
        pytest.param(names.REQUIRED, {}, "cordoned", id="not begun"),
        pytest.param(names.REQUIRED, {WAS: "true"}, "cordoned", id="not begun, marked"),
        *[pytest.param(state, {}, "uncordoned", id=state) for state in names.RUNNING],
        *[
            pytest.param(state, {WAS: "true"}, "cordoned", id=f"{state}, cordoned before")
            for state in names.RUNNING
        ],
    ],
)
def test_switching_off_gives_nodes_back(gpu, state, annotations, expected):
    marks = {names.SINCE.replace("/", "__"): "x", names.WHY.replace("/", "__"): "y"}
    node = gpu.node("n", state, cordoned=True, **annotations, **marks)
    (patch,) = switch_off([Node(node), Node(gpu.node("other"))]).patches
    body = merge_patch_of(patch)
    assert body["metadata"]["labels"] == {names.STATE: None}
    assert set(body["metadata"]["annotations"].values()) == {None}
    assert names.SINCE in body["metadata"]["annotations"]
    assert (names.WAS_CORDONED in body["metadata"]["annotations"]) is bool(annotations)
    assert body.get("spec", "") == ({"unschedulable": None} if expected == "uncordoned" else "")


def test_switched_off_twice(gpu):
    assert switch_off([Node(gpu.node("n", cordoned=True))]).patches == []


def test_a_step_is_over_when_nobody_waits(gpu):
    quiet = NodeStep(Node(gpu.node("n", names.DONE)), names.DONE)
    waiting = NodeStep(Node(gpu.node("n", names.REQUIRED)), names.REQUIRED, waits="its turn")
    moving = NodeStep(Node(gpu.node("n", names.REQUIRED)), names.CORDON)
    assert Step((quiet,)).is_over
    assert not Step((waiting,)).is_over
    assert not Step((moving,)).is_over


def test_a_message_is_bounded(gpu):
    step = NodeStep(Node(gpu.node("n", names.DRAIN)), names.DRAIN)
    step.fail("x" * 10_000 + "\x00", 1)
    assert step.annotations[names.WHY] == "x" * 500
