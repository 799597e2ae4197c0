# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy

R, C, P, F = states.REQUIRED, states.CORDON, states.POD_DELETION, states.FAILED
POLICY = parse_policy({"maxParallelUpgrades": 0, "maxUnavailable": "100%"})
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
NOT_YET = "NIMService nim/llm has no ready replica on another node yet"
DRAINED = "NIMService nim/llm has its other ready replicas on nodes that are being drained"
UP, DOWN, HOMELESS, LEAVING = "up", "down", "homeless", "leaving"
A = ("a", "x", UP)


def replicas_of(gpu, replicas):
    """(name, node, state) of each."""
    found = []
    for name, node, state in replicas:
        pod = gpu.replica(name, node, ready=state in (UP, LEAVING))
        if state == HOMELESS:
            pod["status"]["conditions"].append(UNSCHEDULABLE)
        if state == LEAVING:
            pod["metadata"]["deletionTimestamp"] = "now"
        found.append(pod)
    return found


def begin(gpu, snapshot, states, pods, wanted, **more):
    """The nodes that start, and the reasons of the others."""
    nodes = [gpu.node(name, state, cordoned=state not in (R, "")) for name, state in states.items()]
    found = snapshot(nodes, pods, workloads=[gpu.workload(wanted)], **more)
    steps = take_step(found, POLICY).nodes
    waits = {item.node.name: item.waits or item.state for item in steps if item.node.state == R}
    return waits, steps


@pytest.mark.parametrize(
    ("states", "replicas", "wanted", "expected"),
    [
        pytest.param({"x": R, "y": R}, [A, ("b", "y", UP)], 2, {"x": C, "y": DRAINED}, id="serial"),
        pytest.param({"x": R}, [A], 1, {"x": C}, id="the only one cannot be kept"),
        pytest.param({"x": R}, [A, ("b", "z", DOWN)], 2, {"x": NOT_YET}, id="another one starts"),
        pytest.param({"x": R}, [A], 2, {"x": NOT_YET}, id="another one is not created yet"),
        pytest.param({"x": R}, [A, ("b", "x", UP)], 2, {"x": C}, id="both here: one by one"),
        pytest.param({"x": R}, [("a", "x", DOWN)], 2, {"x": C}, id="an unready one is not lost"),
        pytest.param({"x": R}, [A, ("b", "", HOMELESS)], 2, {"x": C}, id="unschedulable"),
        pytest.param(
            {"x": R, "z": F},
            [A, ("b", "", HOMELESS)],
            2,
            {"x": NOT_YET},
            id="unschedulable until the failed node is back",
        ),
        pytest.param(
            {"w": R, "x": R},
            [A, ("b", "", HOMELESS)],
            2,
            {"w": C, "x": NOT_YET},
            id="unschedulable until the starting node is back",
        ),
        pytest.param(
            {"x": R, "z": F}, [A, ("b", "z", UP)], 2, {"x": C}, id="a failed node evicts nothing"
        ),
    ],
)
def test_guard_nodes_that_start(gpu, snapshot, states, replicas, wanted, expected):
    assert begin(gpu, snapshot, states, replicas_of(gpu, replicas), wanted)[0] == expected


def test_guard_off(gpu, snapshot):
    pods = [gpu.replica("a", "x"), gpu.replica("b", "y")]
    found, _steps = begin(gpu, snapshot, {"x": R, "y": R}, pods, 2, is_guarded=False)
    assert found == {"x": C, "y": C}


def test_guard_unavoidable_loss(gpu, snapshot):
    notes = ["NIMService nim/llm has no ready replica during the upgrade"]
    _found, (step,) = begin(gpu, snapshot, {"x": R}, [gpu.replica("a", "x")], 1)
    assert step.notes == notes
    pods = [gpu.replica("a", "x"), gpu.replica("b", "x")]
    _found, (step,) = begin(gpu, snapshot, {"x": R}, pods, 2)
    assert step.notes == []
    _found, (step,) = begin(gpu, snapshot, {"x": R}, pods, 2, is_guarded=False)
    assert step.notes == notes


def test_guard_undrainable_node(gpu, snapshot):
    budgets = (gpu.budget(wanted=2, maxUnavailable=0),)
    pods = [gpu.replica("a", "x"), gpu.replica("b", "y")]
    _found, (step,) = begin(gpu, snapshot, {"x": R}, pods, 2, budgets=budgets)
    assert (step.is_stuck, step.has_moved) == (True, False)
    why = "Pod nim/a could not be evicted: PodDisruptionBudget nim/b (maxUnavailable: 0)"
    assert why in step.waits


def evict(gpu, snapshot, pods, wanted, others=(), **more):
    nodes = [gpu.node("x", P, cordoned=True, **more), *others]
    step = take_step(snapshot(nodes, pods, workloads=[gpu.workload(wanted)]), POLICY).nodes[0]
    return [item.live["metadata"]["name"] for item in step.evictions], step


@pytest.mark.parametrize(
    ("replicas", "wanted", "expected", "is_held"),
    [
        pytest.param([A, ("b", "y", UP)], 2, ["a"], False, id="another is ready"),
        pytest.param([A, ("b", "x", UP)], 2, ["a"], True, id="one by one"),
        pytest.param([A], 1, ["a"], False, id="the only one"),
        pytest.param([A], 2, [], True, id="the other one is not created yet"),
        pytest.param([A, ("b", "x", LEAVING)], 2, [], True, id="the other one leaves"),
        pytest.param([A, ("b", "y", DOWN)], 2, [], True, id="the other one starts"),
        pytest.param([A, ("b", "", HOMELESS)], 2, ["a"], False, id="the other one has no node"),
        pytest.param(
            [("a", "x", DOWN), ("b", "x", DOWN)], 2, ["a", "b"], False, id="none is ready"
        ),
    ],
)
def test_guard_evicted_pods(gpu, snapshot, replicas, wanted, expected, is_held):
    found, step = evict(gpu, snapshot, replicas_of(gpu, replicas), wanted)
    assert (found, step.is_held) == (expected, is_held)


def test_guard_unschedulable_replica(gpu, snapshot):
    pods = replicas_of(gpu, [A, ("b", "", HOMELESS)])
    found, step = evict(gpu, snapshot, pods, 2, [gpu.node("z", F, cordoned=True)])
    assert found == []
    assert step.waits == "Pod nim/a: NIMService nim/llm has no other ready replica yet"


@pytest.mark.parametrize(("other", "expected"), [("w", []), ("z", ["a"])])
def test_guard_held_nodes(gpu, snapshot, other, expected):
    """Two nodes that hold pods do not wait for each other."""
    pods = replicas_of(gpu, [A, ("b", "", HOMELESS)])
    held = gpu.node(other, P, cordoned=True, **{labels.SINCE: f"{P} 1 held"})
    nodes = [gpu.node("x", P, cordoned=True), held]
    steps = take_step(snapshot(nodes, pods, workloads=[gpu.workload(2)]), POLICY)
    assert [item.live["metadata"]["name"] for item in steps.evictions] == expected


def test_guard_suspends_limit(gpu, snapshot):
    pods = [gpu.replica("a", "x")]
    _found, step = evict(gpu, snapshot, pods, 2, nimops__ignored="")
    assert step.annotations[labels.SINCE] == f"{P} 1000 held"
    found, step = evict(gpu, snapshot, pods, 2, **{labels.SINCE: f"{P} 1"})
    assert (step.state, step.annotations[labels.SINCE]) == (P, f"{P} 1000 held"), "no failure"
    held = {labels.SINCE: f"{P} 1 held"}
    found, step = evict(gpu, snapshot, pods, 2, **held)
    assert (found, step.state, labels.SINCE in step.annotations) == ([], P, False)
    found, step = evict(gpu, snapshot, pods, 1, **held)
    assert (found, step.annotations[labels.SINCE]) == (["a"], f"{P} 1000")


def test_guard_two_nodes_drain(gpu, snapshot):
    pods = [gpu.replica("a", "x"), gpu.replica("b", "y")]
    nodes = [gpu.node("x", P, cordoned=True), gpu.node("y", P, cordoned=True)]
    step = take_step(snapshot(nodes, pods, workloads=[gpu.workload(2)]), POLICY)
    assert [item.live["metadata"]["name"] for item in step.evictions] == ["a"]
