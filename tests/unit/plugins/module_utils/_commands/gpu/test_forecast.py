# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu import forecast
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.simulated_upgrade import (
    SimulatedUpgrade,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import Node
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

DONE, FAILED, REQUIRED = states.DONE, states.FAILED, states.REQUIRED


NO_POLICY = parse_policy({})


def forecast_upgrade(simulation, policy=NO_POLICY):
    return forecast.forecast_upgrade(simulation, {None: policy})


@pytest.fixture(scope="session")
def simulate(gpu):
    """A cluster of nodes with 8 GPUs each, whose drivers are outdated."""

    def make(nodes_before, pods=(), *, gpus=8, revision="old", **more):
        nodes = [
            gpu.node(name, state, gpus=gpus, cordoned=state in states.RUNNING)
            for name, state in nodes_before.items()
        ]
        own = [gpu.driver(name, revision) for name in nodes_before]
        own += [gpu.validator(name) for name in nodes_before]
        revisions = [gpu.revision("old", 1, "a"), gpu.revision("new", 2, "b")]
        return SimulatedUpgrade(nodes, [*own, *pods], revisions, **more)

    return make


def service(gpu, name, *nodes, gpus=1):
    return [gpu.replica(f"{name}-{i}", node, name, gpus=gpus) for i, node in enumerate(nodes)]


def test_forecast_no_work(gpu, simulate):
    found = forecast_upgrade(simulate({"a": DONE}, revision="new"))
    assert (found.nodes, found.services, found.total, found.has_work) == ([], [], 1, False)


def test_forecast_sequential_nodes(gpu, simulate):
    pods = service(gpu, "llm", "a", "b")
    made = simulate({"b": DONE, "a": DONE, "c": DONE}, pods, workloads=[gpu.workload(2)])
    found = forecast_upgrade(made, parse_policy({"autoUpgrade": True}))
    nodes = [(item.node, item.order, item.state, item.meanwhile) for item in found.nodes]
    assert nodes == [("a", 1, DONE, []), ("b", 2, DONE, []), ("c", 3, DONE, [])]
    assert found.nodes[0].evicted == ["nim/llm-0"]
    (seen,) = found.services
    assert (seen.before, seen.lowest, seen.after, seen.homeless) == (2, 1, 2, 0)
    assert found.is_complete
    assert all(Node(node).state == DONE and not Node(node).is_cordoned for node in made.nodes)


def test_forecast_several_drivers(gpu, simulate):
    """`a` has an orphaned pod of the ClusterPolicy, `c` has no owner."""
    pods = service(gpu, "llm", "a", "b")
    nodes_before = dict.fromkeys("abcd", DONE)
    made = simulate(nodes_before, pods, workloads=[gpu.workload(2)])
    for node, owner in zip(made.nodes, ("one", "one", None, "two"), strict=True):
        node["metadata"]["labels"] |= {OWNER: owner} if owner else {}
    del made.pods[0]["metadata"]["ownerReferences"]
    policies = {"one": parse_policy({}), "two": parse_policy({})}
    found = forecast.forecast_upgrade(made, policies)
    nodes = [(item.node, item.order, item.state) for item in found.nodes]
    assert nodes == [("a", 1, DONE), ("d", 2, DONE), ("b", 3, DONE)]
    assert found.nodes[1].meanwhile == ["a"]
    assert (found.services[0].lowest, found.total, found.is_complete) == (1, 3, True)
    assert forecast.forecast_upgrade(made, policies).nodes == []


def test_forecast_too_few_gpus(gpu, simulate):
    pods = service(gpu, "llm", "a", "b", gpus=8)
    made = simulate({"a": DONE, "b": DONE}, pods, workloads=[gpu.workload(2, gpus=8)])
    found = forecast_upgrade(made)
    (seen,) = found.services
    assert (seen.lowest, seen.homeless, seen.gpus, seen.nodes) == (1, 1, 8, ["a", "b"])
    assert [item.state for item in found.nodes] == [DONE, DONE]


def test_forecast_only_replica(gpu, simulate):
    made = simulate({"a": DONE}, service(gpu, "llm", "a"), workloads=[gpu.workload(1)])
    found = forecast_upgrade(made)
    assert found.services[0].lowest == 0
    assert found.nodes[0].notes == ["NIMService nim/llm has no ready replica during the upgrade"]


def test_forecast_budget_never_allows(gpu, simulate):
    pods = service(gpu, "llm", "a", "b")
    budgets = [gpu.budget(wanted=2, maxUnavailable=0)]
    made = simulate({"a": DONE, "b": DONE, "c": DONE}, pods, budgets=budgets)
    found = forecast_upgrade(made)
    ends = {item.node: (item.order, item.state, item.is_stuck) for item in found.nodes}
    assert ends == {"a": (0, REQUIRED, True), "b": (0, REQUIRED, True), "c": (1, DONE, False)}
    assert [item.node for item in found.problems] == ["a", "b"]
    assert "maxUnavailable: 0" in found.nodes[1].waits[0]


def test_forecast_budget_without_guard(gpu, simulate):
    pods, budgets = service(gpu, "llm", "a", "a"), [gpu.budget(wanted=2, maxUnavailable=0)]
    made = simulate({"a": DONE, "b": DONE}, pods, budgets=budgets, is_guarded=False)
    found = forecast_upgrade(made)
    ends = {item.node: (item.state, item.is_stuck) for item in found.nodes}
    assert ends == {"a": (FAILED, True), "b": (REQUIRED, True)}
    assert any("not evicted within 300 s" in item for item in found.nodes[0].waits)


def test_forecast_budget_allows_one(gpu, simulate):
    pods = service(gpu, "llm", "a", "a", "b")
    budgets = [gpu.budget(expected=3, wanted=2, healthy=3)]
    made = simulate({"a": DONE, "b": DONE}, pods, budgets=budgets)
    found = forecast_upgrade(made)
    assert [item.state for item in found.nodes] == [DONE, DONE]
    assert found.services[0].lowest == 2


def test_forecast_idle_nodes_omitted(gpu, simulate):
    assert forecast_upgrade(simulate({"a": "", "b": DONE}, revision="new")).nodes == []


def test_forecast_without_validator(gpu, simulate):
    made = simulate({"a": DONE, "b": DONE})
    made.pods = [pod for pod in made.pods if not pod["metadata"]["name"].startswith("validator")]
    first, second = forecast_upgrade(made).nodes
    assert first.state == states.VALIDATION
    assert first.waits == ["a pod of the DaemonSet nvidia-operator-validator"]
    assert (second.state, second.order) == (REQUIRED, 0)
    assert second.waits[0].startswith("its turn")


def test_forecast_waits_for_jobs(gpu, simulate):
    job = gpu.pod("train", "a", owner="Job", labels={"job": "yes"}, gpus=1)
    policy = parse_policy({"waitForCompletion": {"podSelector": "job=yes"}})
    found = forecast_upgrade(simulate({"a": DONE}, [job]), policy)
    (node,) = found.nodes
    assert (node.state, node.evicted) == (DONE, [])
    assert node.waits == ["nim/train to finish (no time limit)"]


def test_forecast_skipped_node(gpu, simulate):
    made = simulate({"a": REQUIRED})
    made.nodes[0]["metadata"]["labels"][labels.SKIP] = "true"
    (node,) = forecast_upgrade(made).nodes
    assert (node.order, node.state) == (0, REQUIRED)
    assert node.waits == [f"the label {labels.SKIP}=true to be removed"]


def test_forecast_resumed_upgrade(gpu, simulate):
    nodes_before = {state: state for state in states.RUNNING if state != FAILED}
    found = forecast_upgrade(simulate(nodes_before))
    assert {item.state for item in found.nodes} == {DONE}
    assert {item.order > 0 for item in found.nodes} == {True}


def test_forecast_to_dict(gpu, simulate):
    made = simulate({"a": DONE}, service(gpu, "llm", "a"), workloads=[gpu.workload(1)])
    found = forecast_upgrade(made)
    data = found.to_dict()
    assert data["nodes"][0]["evicted"] == ["nim/llm-0"]
    assert data["services"][0]["name"] == "llm"
    assert (data["total"], data["is_complete"]) == (1, True)


STATES = st.sampled_from(["", DONE, REQUIRED, *states.RUNNING])
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "maxParallelUpgrades": st.integers(0, 4),
        "maxUnavailable": st.sampled_from([1, 2, "25%", "50%", "100%"]),
        "drain": st.fixed_dictionaries({"enable": st.booleans(), "force": st.just(True)}),
        "waitForCompletion": st.just({"podSelector": "job=yes"}),
    },
)
PODS = st.lists(
    st.tuples(
        st.sampled_from(["one", "two", "three"]),
        st.integers(0, 5),
        st.integers(1, 4),
        st.sampled_from(["", "", "", "skip", "job", "unready"]),
    ),
    max_size=8,
)
EVERY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(EVERY, max_examples=20)
"""An upgrade by halves of steps takes four times as many steps; `make unit-nightly` has the sixty."""


@st.composite
def clusters(draw):
    nodes_before = {
        f"n{i}": state for i, state in enumerate(draw(st.lists(STATES, min_size=1, max_size=6)))
    }
    pods = [item for item in draw(PODS) if f"n{item[1]}" in nodes_before]
    return nodes_before, pods, draw(POLICIES), draw(st.booleans())


def build(gpu, simulate, nodes_before, pods, is_guarded):
    made = []
    for index, (name, node, gpus, what) in enumerate(pods):
        place = f"n{node}"
        pod = gpu.replica(f"{name}-{index}", place, name, gpus=gpus, ready=what != "unready")
        if what == "skip":
            pod["metadata"]["labels"][labels.SKIP_DRAIN] = "true"
        if what == "job":
            pod = gpu.pod(f"job-{index}", place, owner="Job", labels={"job": "yes"}, gpus=gpus)
        made.append(pod)
    pods = [item for item in pods if item[3] != "job"]
    counts = {name: sum(item[0] == name for item in pods) for name, *_rest in pods}
    workloads = [gpu.workload(count, name) for name, count in counts.items()]
    return simulate(nodes_before, made, workloads=workloads, is_guarded=is_guarded)


# Each node holds a pod whose service waits for the other node.
BOTH_HOLD = (
    {"n0": states.CORDON, "n1": states.CORDON},
    [("one", 0, 1, ""), ("one", 0, 1, ""), ("two", 0, 1, ""), ("two", 1, 1, "")],
    {},
    True,
)


@EVERY
@given(clusters())
@example(BOTH_HOLD)
def test_forecast_all_nodes_done(gpu, simulate, drawn):
    nodes_before, pods, policy, is_guarded = drawn
    made = build(gpu, simulate, nodes_before, pods, is_guarded)
    for node in made.nodes:  # failed nodes are fixed manually
        if Node(node).state == FAILED:
            name = f"driver-{node['metadata']['name']}"
            pod = next(item for item in made.pods if item["metadata"]["name"] == name)
            pod["metadata"]["labels"]["controller-revision-hash"] = "new"
    found = forecast_upgrade(made, parse_policy(policy))
    assert found.is_complete
    assert {Node(node).state for node in made.nodes} == {DONE}
    assert not any(Node(node).is_cordoned for node in made.nodes)
    assert not take_step(made.snapshot(), parse_policy(policy)).patches


def steps_of(made, policy):
    """Yield each step before it is applied."""
    for _number in range(2000):
        step = take_step(made.snapshot(), policy)
        yield step
        jobs = [item.node.name for item in step.nodes if item.state == states.JOBS]
        has_changed, selector = made.apply(step).has_changed, policy.waiting.selector
        if not has_changed and not [
            node for node in jobs if selector and made.finish(node, selector)
        ]:
            return
    raise AssertionError("it never ends")


@EVERY
@given(clusters())
def test_forecast_max_unavailable(gpu, simulate, drawn):
    nodes_before, pods, policy, is_guarded = drawn
    nodes_before = dict.fromkeys(nodes_before, DONE)
    parsed = parse_policy(policy)
    made = build(gpu, simulate, nodes_before, pods, is_guarded)
    limit = parsed.count_unavailable(len(nodes_before))
    for _step in steps_of(made, parsed):
        assert sum(Node(node).is_cordoned for node in made.nodes) <= limit
        running = sum(Node(node).state in states.RUNNING for node in made.nodes)
        assert not parsed.max_parallel or running <= parsed.max_parallel


@EVERY
@given(clusters())
def test_forecast_protected_pods(gpu, simulate, drawn):
    nodes_before, pods, policy, is_guarded = drawn
    made = build(gpu, simulate, nodes_before, pods, is_guarded)
    for step in steps_of(made, parse_policy(policy)):
        for item in step.evictions:
            pod_labels = item.live["metadata"]["labels"]
            assert pod_labels.get(labels.SKIP_DRAIN) != "true"
            assert item.is_deletion == ("nvidia-driver" in pod_labels.values())
            assert pod_labels.get("app") != "nvidia-operator-validator"


@EVERY
@given(clusters())
def test_forecast_guard_keeps_replica(gpu, simulate, drawn):
    nodes_before, pods, policy, _is_guarded = drawn
    pods = [(name, node, 1, "") for name, node, _gpus, _what in pods]
    nodes_before = dict.fromkeys([*nodes_before, "spare"], DONE)
    made = build(gpu, simulate, nodes_before, pods, True)
    counts = {service.name: service.ready for service in made.snapshot().services}
    for _step in steps_of(made, parse_policy({**policy, "maxUnavailable": 1})):
        for service in made.snapshot().services:
            assert counts[service.name] < 2 or service.ready >= 1


@FEW
@given(clusters())
def test_forecast_interrupted_step(gpu, simulate, drawn):
    """Partially written steps lead to the same end."""
    interrupt(gpu, simulate, drawn)


@pytest.mark.nightly
@EVERY
@given(clusters())
def test_forecast_interrupted_step_in_more_clusters(gpu, simulate, drawn):
    interrupt(gpu, simulate, drawn)


def interrupt(gpu, simulate, drawn):
    nodes_before, pods, policy, is_guarded = drawn
    parsed = parse_policy(policy)
    made = build(gpu, simulate, dict.fromkeys(nodes_before, DONE), pods, is_guarded)
    for number in range(400):
        step = take_step(made.snapshot(), parsed)
        half = copy.copy(step)
        object.__setattr__(half, "nodes", step.nodes[number % 2 :: 2])
        made.apply(half)
        jobs = [item.node.name for item in step.nodes if item.state == states.JOBS]
        for node in jobs if parsed.waiting.selector else ():
            made.finish(node, parsed.waiting.selector)
        if not step.nodes and all(Node(node).state == DONE for node in made.nodes):
            break
    assert {Node(node).state for node in made.nodes} == {DONE}


# The jobs of two nodes end at the same time.
TWO_JOBS = (
    dict.fromkeys(["n0", "n1", "n2", "n3", "n4"], ""),
    [("one", 0, 1, "job"), ("one", 1, 1, ""), ("one", 1, 1, "job"), ("one", 2, 1, "")],
    {"maxParallelUpgrades": 0, "waitForCompletion": {"podSelector": "job=yes"}},
    True,
)


@EVERY
@given(clusters())
@example(TWO_JOBS)
def test_forecast_equals_steps(gpu, simulate, drawn):
    nodes_before, pods, policy, is_guarded = drawn
    parsed = parse_policy(policy)
    one, two = (
        build(gpu, simulate, dict.fromkeys(nodes_before, DONE), pods, is_guarded) for _ in range(2)
    )
    planned = [item.node for item in forecast_upgrade(one, parsed).nodes if item.order]
    begun = []
    for step in steps_of(two, parsed):
        begun += [
            item.node.name
            for item in step.nodes
            if item.node.state in states.RUNNING and item.node.name not in begun
        ]
    assert planned == begun
