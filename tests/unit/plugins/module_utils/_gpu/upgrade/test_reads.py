# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadNodeRows, ReadTime
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.reads import (
    read_pods_on,
    upgrade_reads,
    upgrade_step,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import NO_DRIVER

ON = parse_policy({"maxParallelUpgrades": 2, "maxUnavailable": "100%"})


@pytest.fixture
def plan(gpu):
    """Read until nothing is new, as a pass does; the keys that were read, and the step."""

    def run(objects, policy=ON, owner=None, **settings):
        ask = Facts(objects).ask
        answers = {OPERATOR: settings, ReadNodeRows().key: ask(ReadNodeRows())}
        while new := [
            read
            for read in upgrade_reads(Observed(answers), "gpu", policy, owner)
            if read.key not in answers
        ]:
            for read in new:
                answers[read.key] = "2026-01-01T00:00:00+00:00" if read == ReadTime() else ask(read)
        return [key for key in answers if key not in (OPERATOR, ReadNodeRows().key)], upgrade_step(
            Observed(answers), "gpu", policy, owner
        )

    return run


def of(kind, *objects):
    return [{"apiVersion": "v1", "kind": kind, **item} for item in objects]


@pytest.fixture
def cluster_of(gpu):
    def make(nodes_before, revision="old", pods=(), **more):
        nodes = [gpu.node(name, state) for name, state in nodes_before.items()]
        drivers = [gpu.driver(name, revision) for name in nodes_before]
        return [
            *of("Node", *nodes),
            *of("Pod", *drivers, *pods),
            *of("ControllerRevision", gpu.revision("old", 1, "a"), gpu.revision("new", 2, "b")),
            *[item for kind, items in more.items() for item in of(kind, *items)],
        ]

    return make


OWN = [
    "Pod/gpu/*?app.kubernetes.io/component=nvidia-driver#",
    "ControllerRevision/gpu/*?app.kubernetes.io/component=nvidia-driver#",
]


def test_upgrade_reads_in_sync(plan, cluster_of):
    keys, step = plan(cluster_of({"a": states.DONE, "b": states.DONE}, "new"))
    assert (keys, step.is_over) == (OWN, True)
    keys, step = plan(cluster_of({"a": "", "b": states.DONE}, "new"))
    assert (keys, [item.state for item in step.nodes]) == (OWN, [states.DONE, states.DONE])


def test_upgrade_reads_pods_of_starting_nodes(plan, cluster_of, gpu):
    before = {"a": states.REQUIRED, "b": states.REQUIRED, "c": states.REQUIRED}
    pods = [gpu.replica("x", "a"), gpu.replica("y", "z")]
    keys, step = plan(cluster_of(before, pods=pods))
    assert read_pods_on("a").key in keys
    assert read_pods_on("c").key not in keys
    assert not step.unread
    assert [item.state for item in step.nodes] == [states.CORDON, states.CORDON, states.REQUIRED]


def test_upgrade_reads_without_services(plan, cluster_of):
    keys, step = plan(cluster_of({"a": states.REQUIRED}))
    assert not [key for key in keys if "spec.nodeName" in key]
    assert step.nodes[0].state == states.CORDON


@pytest.mark.parametrize(
    ("switch", "has_services", "expected"),
    [
        ("", True, True),
        ("", False, False),
        ("on", False, True),
        ("OFF ", True, False),
        ("perhaps", True, True),
    ],
)
def test_upgrade_reads_guard_switch(plan, cluster_of, gpu, switch, has_services, expected):
    pods = [gpu.replica("x", "z")] if has_services else []
    keys, _step = plan(cluster_of({"a": states.REQUIRED}, pods=pods), upgrade_guard=switch)
    assert (read_pods_on("a").key in keys) is expected


def test_upgrade_step_evicts(plan, cluster_of, gpu):
    pods = [gpu.pod("w", "a", gpus=1)]
    keys, step = plan(cluster_of({"a": states.POD_DELETION}, pods=pods))
    assert [item.live["metadata"]["name"] for item in step.evictions] == ["w"]
    assert "ResourceClaim/*" not in keys
    assert step.nodes[0].annotations[labels.SINCE] == "pod-deletion-required 1767225600"


def test_upgrade_reads_claims_and_groups(plan, cluster_of, gpu):
    pod = gpu.pod("w", "a")
    pod["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": "c"}]
    pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/name"] = "s"
    status = {"allocation": {"devices": {"results": [{"driver": "gpu.nvidia.com"}]}}}
    claim = {"metadata": {"name": "c", "namespace": "nim"}, "status": status}
    found = cluster_of({"a": states.POD_DELETION}, pods=[pod], ResourceClaim=[claim])
    keys, step = plan(found)
    assert {"ResourceClaim/*", "Pod/*?leaderworkerset.sigs.k8s.io/name#"} <= set(keys)
    assert len(step.evictions) == 1


def test_upgrade_step_switched_off(plan, cluster_of):
    keys, step = plan(cluster_of({"a": states.DRAIN, "b": ""}), policy=None)
    assert keys == []
    assert [item.node.name for item in step.nodes] == ["a"]
    assert len(step.patches) == 1
    _keys, step = plan(cluster_of({"a": ""}), policy=None)
    assert step.patches == []


def test_upgrade_step_owner(plan, cluster_of):
    objects = cluster_of({"a": states.POD_DELETION, "b": states.POD_DELETION})
    for node in objects[:2]:
        node["metadata"]["labels"][OWNER] = node["metadata"]["name"]

    def upgraded(policy, owner):
        keys, step = plan(objects, policy, owner)
        return [item.node.name for item in step.nodes], read_pods_on("a").key in keys

    assert upgraded(None, "a") == (["a"], False)
    assert upgraded(ON, "a") == (["a"], True)
    assert upgraded(ON, "b") == (["b"], False)
    assert upgraded(ON, NO_DRIVER) == ([], False)
    assert upgraded(ON, None) == (["a", "b"], True)
