# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy

R, C, P, F = states.REQUIRED, states.CORDON, states.POD_DELETION, states.FAILED
POLICY = parse_policy({"maxParallelUpgrades": 0, "maxUnavailable": "100%"})
HOMELESS = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def homeless(pod):
    pod["status"]["conditions"].append(HOMELESS)
    return pod


def leaving(pod):
    pod["metadata"]["deletionTimestamp"] = "now"
    return pod


def begin(gpu, snapshot, states, replicas, wanted, **more):
    """The nodes that begin, and what the others wait for."""
    nodes = [gpu.node(name, state, cordoned=state not in (R, "")) for name, state in states.items()]
    steps = take_step(
        snapshot(nodes, replicas, workloads=[gpu.workload(wanted)], **more), POLICY
    ).nodes
    return {
        item.node.name: item.waits or item.state for item in steps if item.node.state == R
    }, steps


@pytest.mark.parametrize(
    ("states", "replicas", "wanted", "expected"),
    [
        pytest.param(
            {"x": R, "y": R},
            [("a", "x", True), ("b", "y", True)],
            2,
            {
                "x": C,
                "y": "NIMService nim/llm has its other ready replicas on nodes that are being drained",
            },
            id="one after the other",
        ),
        pytest.param({"x": R}, [("a", "x", True)], 1, {"x": C}, id="the only one cannot be kept"),
        pytest.param(
            {"x": R},
            [("a", "x", True), ("b", "z", False)],
            2,
            {"x": "NIMService nim/llm has no ready replica on another node yet"},
            id="another one starts",
        ),
        pytest.param(
            {"x": R},
            [("a", "x", True)],
            2,
            {"x": "NIMService nim/llm has no ready replica on another node yet"},
            id="another one is to be made",
        ),
        pytest.param(
            {"x": R}, [("a", "x", True), ("b", "x", True)], 2, {"x": C}, id="both here: one by one"
        ),
        pytest.param(
            {"x": R}, [("a", "x", False)], 2, {"x": C}, id="what is not ready is not lost"
        ),
        pytest.param(
            {"x": R},
            [("a", "x", True), ("b", "", None)],
            2,
            {"x": C},
            id="no place, and none to come",
        ),
        pytest.param(
            {"x": R, "z": F},
            [("a", "x", True), ("b", "", None)],
            2,
            {"x": "NIMService nim/llm has no ready replica on another node yet"},
            id="no place until the failed node is back",
        ),
        pytest.param(
            {"w": R, "x": R},
            [("a", "x", True), ("b", "", None)],
            2,
            {"w": C, "x": "NIMService nim/llm has no ready replica on another node yet"},
            id="no place until the node that begins just now is back",
        ),
        pytest.param(
            {"x": R, "z": F},
            [("a", "x", True), ("b", "z", True)],
            2,
            {"x": C},
            id="a failed node evicts nothing more",
        ),
    ],
)
def test_guard_nodes_that_start(gpu, snapshot, states, replicas, wanted, expected):
    pods = [
        homeless(gpu.replica(name, ready=False))
        if ready is None
        else gpu.replica(name, node, ready=ready)
        for name, node, ready in replicas
    ]
    assert begin(gpu, snapshot, states, pods, wanted)[0] == expected


def test_guard_off(gpu, snapshot):
    pods = [gpu.replica("a", "x"), gpu.replica("b", "y")]
    found, _steps = begin(gpu, snapshot, {"x": R, "y": R}, pods, 2, is_guarded=False)
    assert found == {"x": C, "y": C}


def test_guard_unavoidable_loss(gpu, snapshot):
    told = ["NIMService nim/llm has no ready replica during the upgrade"]
    _found, (step,) = begin(gpu, snapshot, {"x": R}, [gpu.replica("a", "x")], 1)
    assert step.notes == told
    pods = [gpu.replica("a", "x"), gpu.replica("b", "x")]
    _found, (step,) = begin(gpu, snapshot, {"x": R}, pods, 2)
    assert step.notes == []
    _found, (step,) = begin(gpu, snapshot, {"x": R}, pods, 2, is_guarded=False)
    assert step.notes == told


def test_guard_undrainable_node(gpu, snapshot):
    budgets = (gpu.budget(wanted=2, maxUnavailable=0),)
    _found, (step,) = begin(
        gpu, snapshot, {"x": R}, [gpu.replica("a", "x"), gpu.replica("b", "y")], 2, budgets=budgets
    )
    assert step.is_stuck
    assert not step.has_moved
    assert (
        "Pod nim/a could not be evicted: PodDisruptionBudget nim/b (maxUnavailable: 0)"
        in step.waits
    )


def evict(gpu, snapshot, pods, wanted, others=(), **more):
    nodes = [gpu.node("x", P, cordoned=True, **more), *others]
    step = take_step(snapshot(nodes, pods, workloads=[gpu.workload(wanted)]), POLICY).nodes[0]
    return [item.live["metadata"]["name"] for item in step.evictions], step


@pytest.mark.parametrize(
    ("pods", "wanted", "expected"),
    [
        pytest.param(
            lambda g: [g.replica("a", "x"), g.replica("b", "y")], 2, ["a"], id="another is ready"
        ),
        pytest.param(
            lambda g: [g.replica("a", "x"), g.replica("b", "x")], 2, ["a"], id="one by one"
        ),
        pytest.param(lambda g: [g.replica("a", "x")], 1, ["a"], id="the only one"),
        pytest.param(lambda g: [g.replica("a", "x")], 2, [], id="the other one is to be made"),
        pytest.param(
            lambda g: [g.replica("a", "x"), leaving(g.replica("b", "x"))],
            2,
            [],
            id="the other one leaves",
        ),
        pytest.param(
            lambda g: [g.replica("a", "x"), g.replica("b", "y", ready=False)],
            2,
            [],
            id="the other one starts",
        ),
        pytest.param(
            lambda g: [g.replica("a", "x"), homeless(g.replica("b", ready=False))],
            2,
            ["a"],
            id="the other one has no place",
        ),
        pytest.param(
            lambda g: [g.replica("a", "x", ready=False), g.replica("b", "x", ready=False)],
            2,
            ["a", "b"],
            id="none is ready",
        ),
    ],
)
def test_guard_evicted_pods(gpu, snapshot, pods, wanted, expected):
    found, step = evict(gpu, snapshot, pods(gpu), wanted)
    assert found == expected
    assert step.is_held is (
        len(found)
        < len(
            [
                pod
                for pod in pods(gpu)
                if pod["spec"].get("nodeName") == "x" and "deletionTimestamp" not in pod["metadata"]
            ]
        )
    )


def test_guard_unschedulable_replica(gpu, snapshot):
    pods = [gpu.replica("a", "x"), homeless(gpu.replica("b", ready=False))]
    found, step = evict(gpu, snapshot, pods, 2, [gpu.node("z", F, cordoned=True)])
    assert (found, step.waits) == (
        [],
        "Pod nim/a: NIMService nim/llm has no other ready replica yet",
    )


def test_guard_suspends_limit(gpu, snapshot):
    pods = [gpu.replica("a", "x")]
    _found, step = evict(gpu, snapshot, pods, 2, nimops__ignored="")
    assert step.annotations[labels.SINCE] == f"{P} 1000 held"
    since = labels.SINCE.replace("/", "__")
    found, step = evict(gpu, snapshot, pods, 2, **{since: f"{P} 1"})
    assert (step.state, step.annotations[labels.SINCE]) == (P, f"{P} 1000 held"), "no failure"
    held = {since: f"{P} 1 held"}
    found, step = evict(gpu, snapshot, pods, 2, **held)
    assert (found, step.state, labels.SINCE in step.annotations) == ([], P, False)
    found, step = evict(gpu, snapshot, pods, 1, **held)
    assert (found, step.annotations[labels.SINCE]) == (["a"], f"{P} 1000")


def test_guard_two_nodes_drain(gpu, snapshot):
    pods = [gpu.replica("a", "x"), gpu.replica("b", "y")]
    nodes = [gpu.node("x", P, cordoned=True), gpu.node("y", P, cordoned=True)]
    step = take_step(snapshot(nodes, pods, workloads=[gpu.workload(2)]), POLICY)
    assert [item.live["metadata"]["name"] for item in step.evictions] == ["a"]
