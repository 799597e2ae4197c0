# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.status_builder import StatusBuilder
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.step import switch_off
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.upgrade_status import (
    describe_upgrade,
    is_under_way,
    report_upgrade,
    upgrade_events,
)


def step_of(snapshot, nodes, pods=(), **more):
    return take_step(snapshot(nodes, pods, **more), parse_policy({}))


def test_describe_upgrade(gpu, snapshot):
    nodes = [
        gpu.node("a", states.POD_DELETION),
        gpu.node("b", states.REQUIRED),
        gpu.node("c", states.REQUIRED, labels={labels.SKIP: "true"}),
        gpu.node("d", states.FAILED, **{labels.WHY: "the driver\nkeeps failing"}),
        gpu.node("e", states.DONE),
    ]
    pods = [gpu.pod("w", "a", gpus=1)]
    step = step_of(snapshot, nodes, pods, drivers={**dict.fromkeys("abcd", "old"), "e": "new"})
    assert describe_upgrade(step) == (
        "driver upgrades: 2 in progress, 2 pending;"
        " node d waits for manual action: the driver keeps failing;"
        f" node c waits for the label {labels.SKIP}=true to be removed;"
        " node a waits for nim/w to be evicted (at most 300 s)"
    )


def test_describe_upgrade_cordoned(gpu, snapshot):
    nodes = [gpu.node(name, states.REQUIRED, cordoned=name in "ab") for name in "abc"]
    step = take_step(snapshot(nodes), parse_policy({"maxUnavailable": 2}))
    assert describe_upgrade(step) == (
        "driver upgrades: 0 in progress, 3 pending (2 cordoned by others);"
        " node a waits for an administrator to uncordon it;"
        " node b waits for an administrator to uncordon it"
    )


def test_describe_upgrade_bounds(gpu, snapshot):
    nodes = [gpu.node(f"n{i}", states.FAILED) for i in range(9)]
    text = describe_upgrade(step_of(snapshot, nodes))
    assert text.count("waits for") == 3
    assert text.endswith("; 6 more nodes wait")


def test_describe_upgrade_over(gpu, snapshot):
    step = step_of(snapshot, [gpu.node("a", states.DONE)], drivers={"a": "new"})
    assert (describe_upgrade(step), upgrade_events(step)) == ("", [])
    assert not is_under_way(step)


@pytest.mark.parametrize("state", [states.REQUIRED, states.DRAIN, states.FAILED])
def test_is_under_way(gpu, snapshot, state):
    nodes = [gpu.node("a", state), gpu.node("b", states.DONE)]
    assert is_under_way(step_of(snapshot, nodes, drivers={"a": "old", "b": "new"}))


@pytest.mark.parametrize(
    ("before", "reported"),
    [
        (None, ("DriverUpgrade", "driver upgrades: 1 in progress, 0 pending")),
        (
            ("OperandNotReady", "state-driver: a"),
            ("OperandNotReady", "state-driver: a; driver upgrades: 1 in progress, 0 pending"),
        ),
    ],
)
def test_report_upgrade_appends(gpu, snapshot, before, reported):
    step = step_of(snapshot, [gpu.node("a", states.CORDON)], drivers={"a": "old"})
    builder = StatusBuilder({}, reconciling=before)
    report_upgrade(builder, step)
    assert (builder.reconciling, builder.requeue.after) == (reported, True)


FAILURE = (
    "the upgrade of node n failed: Pod nim/alone has no controller that would replace it:"
    " delete it, or set force"
)


@pytest.mark.parametrize(
    ("state", "pods", "expected"),
    [
        (states.REQUIRED, [], [("Normal", "the upgrade of node n starts")]),
        (states.CORDON, [], []),
        (states.UNCORDON, [], [("Normal", "node n is upgraded")]),
        (states.POD_DELETION, ["alone"], [("Warning", FAILURE)]),
    ],
)
def test_upgrade_events(gpu, snapshot, state, pods, expected):
    made = [gpu.pod(name, "n", gpus=1, owner="") for name in pods]
    step = step_of(snapshot, [gpu.node("n", state)], made)
    assert [(item.kind, item.message) for item in upgrade_events(step)] == expected


def test_upgrade_events_notes(gpu, snapshot):
    nodes, pods = [gpu.node("n", states.REQUIRED)], [gpu.replica("a", "n")]
    step = step_of(snapshot, nodes, pods, workloads=[gpu.workload(1)])
    assert [item.message for item in upgrade_events(step)] == [
        "node n: NIMService nim/llm has no ready replica during the upgrade",
        "the upgrade of node n starts",
    ]


def test_upgrade_events_released(gpu, snapshot):
    step = switch_off(snapshot([gpu.node("n", states.DRAIN)]).nodes)
    assert [item.message for item in upgrade_events(step)] == [
        "node n is released: its driver is no longer upgraded"
    ]


def test_upgrade_events_bounds(gpu, snapshot):
    nodes = [gpu.node(f"n{i}", states.UNCORDON) for i in range(50)]
    assert len(upgrade_events(step_of(snapshot, nodes))) == 10


@pytest.mark.parametrize(
    "node",
    [{"cordoned": True}, {"labels": {labels.SKIP: "true"}}],
    ids=["cordoned", "skipped"],
)
def test_report_upgrade_polls_slowly_for_users(gpu, snapshot, node):
    for others, is_slow in (((), True), (("a",), False)):
        nodes = [gpu.node("n", states.REQUIRED, **node)]
        nodes += [gpu.node(name, states.VALIDATION) for name in others]
        builder = StatusBuilder({})
        report_upgrade(builder, step_of(snapshot, nodes))
        assert (builder.requeue.after, builder.requeue.slow) == (True, is_slow)


@pytest.mark.parametrize(
    ("node_states", "is_slow"),
    [
        ([states.FAILED], True),
        ([states.FAILED, states.REQUIRED], True),
        ([states.FAILED, states.POD_DELETION], False),
        ([states.REQUIRED], False),
    ],
)
def test_report_upgrade_polls_slowly(gpu, snapshot, node_states, is_slow):
    """N6: a failed node waits for a person, not for the next seconds."""
    nodes = [gpu.node(f"n{i}", state) for i, state in enumerate(node_states)]
    builder = StatusBuilder({})
    drivers = dict.fromkeys((f"n{i}" for i in range(len(nodes))), "old")
    report_upgrade(builder, step_of(snapshot, nodes, drivers=drivers))
    assert (builder.requeue.after, builder.requeue.slow) == (True, is_slow)


def test_report_upgrade_gauges(gpu, snapshot):
    builder = StatusBuilder({})
    nodes = [gpu.node("a", states.REQUIRED), gpu.node("b", states.DONE)]
    step = step_of(snapshot, nodes, drivers={"a": "old", "b": "new"})
    report_upgrade(builder, step)
    assert builder.finish().gauges == {"upgrades_available": 1}
