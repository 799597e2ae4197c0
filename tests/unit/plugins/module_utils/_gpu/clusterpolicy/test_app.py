# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTERS,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER

RIVAL = {GPU_CLUSTERS.key: [{"metadata": {"name": "gpu-cluster"}}]}
RIVAL_FOUND = 'conflicting GPUCluster resource "gpu-cluster" detected; ClusterPolicy and GPUCluster cannot co-exist'
OPENSHIFT = {CLUSTER_VERSIONS.key: {"metadata": {}}}


def test_policy_app_no_common_labels(gpu):
    app = gpu.app({})
    child = app.child("ConfigMap", name="a")
    assert child["metadata"].keys() == {"name", "namespace", "ownerReferences"}
    assert (child["metadata"]["name"], child["metadata"]["namespace"]) == ("a", "gpu-operator")
    assert child["metadata"]["ownerReferences"][0]["uid"] == "uid-cluster-policy"


def test_policy_app_namespace_setting(gpu):
    app = gpu.app({}, gpu_namespace="gpu-operator-resources")
    assert app.child("ConfigMap", name="a")["metadata"]["namespace"] == "gpu-operator-resources"
    assert "namespace" not in app.child("ClusterRole", name="a")["metadata"]


@pytest.mark.parametrize(
    ("others", "active"),
    [
        ([("b", "2026-01-02T00:00:00Z")], "cluster-policy"),
        ([("b", "2025-01-02T00:00:00Z")], "b"),
        ([("b", "2026-01-01T00:00:00Z")], "b"),
        ([("z", "2026-01-01T00:00:00Z")], "cluster-policy"),
        ([], "cluster-policy"),
    ],
)
def test_active_policy_oldest(gpu, others, active):
    policies = [gpu.policy(), *(gpu.policy(name=name, created=time) for name, time in others)]
    app = gpu.app({}, policies=policies)
    assert (app.active, app.is_active) == (active, active == "cluster-policy")


def test_active_policy_deleted(gpu):
    older = gpu.policy(name="b", created="2025-01-01T00:00:00Z")
    older["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    assert gpu.app({}, policies=[gpu.policy(), older]).is_active


@pytest.mark.parametrize(
    ("is_used", "owner", "state", "expected"),
    [
        (True, "a", "cordon-required", True),
        (True, "a", "upgrade-required", True),
        (True, "a", "upgrade-failed", True),
        (True, "a", "upgrade-done", False),
        (True, None, "upgrade-failed", False),
        (False, "a", "upgrade-failed", False),
    ],
)
def test_has_driver_upgrade(gpu, is_used, owner, state, expected):
    labels = {OWNER: owner, "nvidia.com/gpu-driver-upgrade-state": state}
    spec = {"driver": {"useNvidiaDriverCRD": is_used}}
    assert gpu.app(spec, nodes=[gpu.node(labels=labels)]).has_driver_upgrade is expected


@pytest.mark.parametrize("upgrades", [True, False])
def test_upgrade_excludes_nvidia_drivers(gpu, upgrades):
    state = {"nvidia.com/gpu-driver-upgrade-state": "upgrade-done"}
    nodes = [gpu.node("a", {**state, OWNER: "x"}), gpu.node("b", state)]
    driver = {"useNvidiaDriverCRD": True, "upgradePolicy": {"autoUpgrade": upgrades}}
    patches = gpu.app({"driver": driver}, nodes=nodes).upgrade.patches
    assert [patch.live["metadata"]["name"] for patch in patches] == ["b"]


@pytest.mark.parametrize(
    ("cdi", "runtime", "expected"),
    [
        ({}, "containerd://2", True),
        ({}, "cri-o://1", True),
        ({"enabled": False}, "containerd://2", True),
        ({"enabled": False}, "cri-o://1", False),
        ({"nriPluginEnabled": True}, "containerd://2", False),
    ],
)
def test_uses_runtime_class(gpu, cdi, runtime, expected):
    app = gpu.app({"cdi": cdi}, nodes=[gpu.node(runtime=runtime)])
    assert app.uses_runtime_class is expected


def test_image(gpu):
    app = gpu.app({"validator": {"image": "r.test/v:1"}}, images={"DCGM_IMAGE": "r.test/d:1"})
    assert app.validator_image == "r.test/v:1"
    assert app.image(app.spec.dcgm, "DCGM_IMAGE") == "r.test/d:1"


def test_upgrade_by_spec(gpu):
    assert gpu.app({}).spec.upgrade_policy is None
    policy = {"driver": {"upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 3}}}
    app = gpu.app(policy)
    assert app.spec.upgrade_policy.max_parallel == 3
    assert app.upgrade.is_over


@pytest.mark.parametrize(
    ("spec", "answers", "reason", "text"),
    [
        ({}, RIVAL, "Conflict", RIVAL_FOUND),
        ({"sandboxWorkloads": {"enabled": True}}, {}, "NotServed", "sandboxWorkloads.enabled: "),
        ({}, OPENSHIFT, "NotServed", "this operator does not support the GPU stack on OpenShift"),
    ],
)
def test_obstacle(gpu, spec, answers, reason, text):
    found = gpu.app(spec, answers=answers).obstacle
    assert str(found).startswith(text)
    assert found.reason == reason


@pytest.mark.parametrize("spec", [{}, {"sandboxWorkloads": {"enabled": False, "mode": "kata"}}])
def test_obstacle_none(gpu, spec):
    assert gpu.app(spec).obstacle is None


@pytest.mark.parametrize(
    ("driver", "is_assumed", "parallel", "reason"),
    [
        ({"upgradePolicy": {"autoUpgrade": True, "maxParallelUpgrades": 3}}, False, 3, None),
        ({}, False, None, "driver.upgradePolicy.autoUpgrade is not true: "),
        ({}, True, 1, "driver.upgradePolicy.autoUpgrade is not true: "),
        ({"enabled": False}, False, None, "driver.enabled is false: "),
        ({"enabled": False}, True, 1, "driver.enabled is false: "),
    ],
)
def test_upgrades_reasons(gpu, driver, is_assumed, parallel, reason):
    found = gpu.app({"driver": driver}).upgrades(is_assumed=is_assumed)
    limits = {owner: item.max_parallel for owner, item in found.policies.items()}
    assert limits == ({None: parallel} if parallel else {})
    assert [item.startswith(reason or "") for item in found.reasons] == ([True] if reason else [])
