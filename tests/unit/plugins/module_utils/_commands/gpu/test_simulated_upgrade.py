# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.simulated_upgrade import (
    SimulatedUpgrade,
    gpus_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy

POLICY = parse_policy({})


def find(simulation, name):
    return next(pod for pod in simulation.pods if pod["metadata"]["name"].startswith(name))


def test_apply_evicted_pod_rescheduled(gpu):
    nodes = [
        gpu.node("a", states.POD_DELETION, cordoned=True),
        gpu.node("b", gpus=3),
        gpu.node("c", gpus=8),
        gpu.node("c-before", gpus=4, ready=False),
    ]
    pods = [gpu.driver("a", "old"), gpu.replica("llm-0", "a", gpus=4), gpu.replica("x", "b")]
    simulation = SimulatedUpgrade(nodes, pods, [gpu.revision("old", 1), gpu.revision("new", 2)])
    played = simulation.apply(take_step(simulation.snapshot(), POLICY))
    assert played.has_changed
    assert [pod["metadata"]["name"] for pod in played.ended] == ["llm-0"]
    fresh = find(simulation, "llm-new")
    assert (fresh["spec"]["nodeName"], fresh["status"]["phase"]) == ("c", "Pending")
    assert "uid" not in fresh["metadata"]
    assert [simulation.gpus_free(node) for node in nodes[:3]] == [8, 2, 4]
    simulation.nodes[1]["status"]["allocatable"]["nvidia.com/gpu"] = "1k"
    assert simulation.gpus_free(simulation.nodes[1]) == 999
    simulation.apply(take_step(simulation.snapshot(), POLICY))
    assert find(simulation, "llm-new")["status"]["phase"] == "Running"


def test_apply_node_selector(gpu):
    nodes = [gpu.node("a", states.POD_DELETION, cordoned=True), gpu.node("b")]
    pod = gpu.replica("llm-0", "a")
    pod["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "H100"}
    simulation = SimulatedUpgrade(nodes, [gpu.driver("a", "old"), pod], [gpu.revision("new", 2)])
    simulation.apply(take_step(simulation.snapshot(), POLICY))
    fresh = find(simulation, "llm-new")
    assert "nodeName" not in fresh["spec"]
    assert fresh["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_apply_unowned_pod_removed(gpu):
    policy = parse_policy({"podDeletion": {"force": True}})
    nodes = [gpu.node("a", states.POD_DELETION, cordoned=True), gpu.node("b")]
    pods = [gpu.driver("a", "old"), gpu.pod("w", "a", gpus=1, owner="")]
    simulation = SimulatedUpgrade(nodes, pods, [gpu.revision("new", 2)])
    simulation.apply(take_step(simulation.snapshot(), policy))
    assert [pod["metadata"]["name"] for pod in simulation.pods] == ["driver-a"]


def test_apply_driver_newest_revision(gpu):
    nodes = [gpu.node("a", states.RESTART, cordoned=True)]
    revisions = [gpu.revision("new", 2), gpu.revision("old", 1)]
    simulation = SimulatedUpgrade(nodes, [gpu.driver("a", "old")], revisions)
    simulation.apply(take_step(simulation.snapshot(), POLICY))
    driver = simulation.snapshot().drivers["a"]
    assert (driver.is_ready, driver.pod["metadata"]["labels"][labels.REVISION]) == (True, "new")


def test_apply_budget_counts(gpu):
    nodes = [gpu.node("a", states.POD_DELETION, cordoned=True), gpu.node("b")]
    pods = [gpu.driver("a", "old"), *(gpu.replica(name, "a") for name in "xyz")]
    budget = gpu.budget(expected=3, wanted=2, healthy=3)
    simulation = SimulatedUpgrade(nodes, pods, [gpu.revision("new", 2)], [budget], is_guarded=False)
    assert len(simulation.apply(take_step(simulation.snapshot(), POLICY)).ended) == 1
    assert budget["status"]["disruptionsAllowed"] == 0
    assert len(simulation.apply(take_step(simulation.snapshot(), POLICY)).ended) == 0
    assert len(simulation.apply(take_step(simulation.snapshot(), POLICY)).ended) == 1


def test_outdate(gpu):
    simulation = SimulatedUpgrade(
        [gpu.node("a", states.DONE)], [gpu.driver("a", "new")], [gpu.revision("new", 2)]
    )
    assert take_step(simulation.snapshot(), POLICY).is_over
    simulation.outdate()
    (step,) = take_step(simulation.snapshot(), POLICY).nodes
    assert step.state == states.REQUIRED


def test_gpus_of(gpu):
    pod = gpu.pod("a", gpus=2)
    pod["spec"]["containers"].append({"resources": {"limits": {"nvidia.com/mig-1g.10gb": "3"}}})
    pod["spec"]["containers"].append({"resources": {"limits": {"cpu": "3", "nvidia.com/gpu": "x"}}})
    pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": "d"}]
    assert gpus_of(pod) == 6
