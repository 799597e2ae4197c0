# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTER_KIND,
    GPU_CLUSTERS,
    NODES,
    NVIDIA_DRIVERS,
    POLICIES,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.app import (
    SERVICE_MONITORS,
    PolicyApp,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.prerequisites import (
    RUNTIME_CLASSES,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.reads import reads
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import DAEMON_SETS

CLUSTER = {POLICIES.key: None, GPU_CLUSTER_KIND.key: None, CLUSTER_VERSIONS.key: None}
LISTS = (NODES, RUNTIME_CLASSES, DAEMON_SETS, NVIDIA_DRIVERS)
STACK = {SERVICE_MONITORS.key: {"metadata": {}}} | {read.key: [] for read in LISTS}
FIRST = {OPERATOR: {"namespace": "gpu-operator"}}


def keys(gpu, answers, spec=None, policies=None):
    policy = gpu.policy(spec)
    answers = {**FIRST, **answers}
    if POLICIES.key in answers:
        answers[POLICIES.key] = policies or [policy]
    return {read.key for read in reads(PolicyApp(policy, Observed(answers)))}


def test_reads_cluster_first(gpu):
    assert keys(gpu, {}) == CLUSTER.keys()


@pytest.mark.parametrize(
    ("answers", "spec", "policies"),
    [({}, {"sandboxWorkloads": {"enabled": True}}, None), ({}, {}, "older")],
)
def test_reads_not_served(gpu, answers, spec, policies):
    if policies:
        policies = [gpu.policy(), gpu.policy(name="b", created="2020-01-01T00:00:00Z")]
    assert keys(gpu, {**CLUSTER, **answers}, spec, policies) == CLUSTER.keys()


def test_reads_gpu_clusters(gpu):
    served = {**CLUSTER, GPU_CLUSTER_KIND.key: {"metadata": {}}}
    first = CLUSTER.keys() | {GPU_CLUSTERS.key}
    assert keys(gpu, served) == first
    assert keys(gpu, {**served, GPU_CLUSTERS.key: [{"metadata": {"name": "x"}}]}) == first
    assert keys(gpu, {**served, GPU_CLUSTERS.key: []}) == first | STACK.keys()


def test_reads_cluster_then_children(gpu):
    assert keys(gpu, CLUSTER) == CLUSTER.keys() | STACK.keys()
    found = keys(gpu, {**CLUSTER, **STACK})
    assert {
        "DaemonSet/gpu-operator/nvidia-driver-daemonset",
        "ClusterRole/nvidia-driver",
        "RuntimeClass/nvidia",
        "ServiceMonitor/gpu-operator/gpu-operator",
    } <= found
    assert not any(key.startswith(("Pod/", "Secret/", "Namespace/")) for key in found)


def test_reads_without_service_monitors(gpu):
    found = keys(gpu, {**CLUSTER, **STACK, SERVICE_MONITORS.key: None})
    assert not any(key.startswith("ServiceMonitor/") for key in found)


def test_reads_spec_objects(gpu):
    driver = {"kernelModuleConfig": {"name": "params"}, "secretEnv": "tokens"}
    found = keys(gpu, {**CLUSTER, **STACK}, {"driver": driver, "psa": {"enabled": True}})
    inputs = {"ConfigMap/gpu-operator/params", "Secret/gpu-operator/tokens"}
    assert inputs | {"Namespace/gpu-operator"} <= found
    off = {"driver": {**driver, "enabled": False}}
    assert not {"ConfigMap/gpu-operator/params"} & keys(gpu, {**CLUSTER, **STACK}, off)


def test_reads_unready_pods(gpu):
    def live(name, count):
        ones = ("observedGeneration", "desiredNumberScheduled", "updatedNumberScheduled")
        status = {**dict.fromkeys(ones, 1), "numberAvailable": count}
        return {f"DaemonSet/gpu-operator/{name}": gpu.live("DaemonSet", name, status=status)}

    children = live("nvidia-dcgm", 0) | live("nvidia-mig-manager", 1)
    found = keys(gpu, {**CLUSTER, **STACK, **children})
    pods = [key for key in found if key.startswith("Pod/")]
    assert pods == ["Pod/gpu-operator/*?app=nvidia-dcgm#unready"]


def test_reads_deleted_policy(gpu):
    policy = gpu.policy({"psa": {"enabled": True}})
    policy["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    answers = {**FIRST, **CLUSTER, POLICIES.key: [policy]}
    found = {read.key for read in reads(PolicyApp(policy, Observed(answers)))}
    assert found == CLUSTER.keys() | {NODES.key, "Namespace/gpu-operator"}


def test_reads_upgrade(gpu):
    spec = {"driver": {"upgradePolicy": {"autoUpgrade": True}}}
    found = keys(gpu, {**CLUSTER, **STACK}, spec)
    assert any(key.startswith("ControllerRevision/") for key in found)
    wrong = {"driver": {"upgradePolicy": {"autoUpgrade": True, "maxUnavailable": "many"}}}
    found = keys(gpu, {**CLUSTER, **STACK}, wrong)
    assert not any(key.startswith("ControllerRevision/") for key in found)


@pytest.mark.parametrize(("is_handed_over", "count"), [(False, 1), (True, 0)])
def test_reads_license(gpu, is_handed_over, count):
    driver = {"licensingConfig": {"configMapName": "lic"}, "useNvidiaDriverCRD": is_handed_over}
    found = keys(gpu, {**CLUSTER, **STACK}, {"driver": driver})
    assert sum(key.startswith("ConfigMap/gpu-operator/lic#") for key in found) == count


def test_reads_problems(gpu):
    """Pods and nodes that show why a DaemonSet is not ready are read only if it is not."""
    labels = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.deploy.dcgm": "true"}
    labels |= {"nvidia.com/gpu.deploy.operator-validator": "true"}
    off = {"nvidia.com/gpu.deploy.device-plugin": "false"}
    nodes = [gpu.node("a", labels), gpu.node("b", labels | off)]

    def found(name, wanted, available):
        counts = {"desiredNumberScheduled": wanted, "updatedNumberScheduled": wanted}
        status = {**counts, "numberAvailable": available}
        live = gpu.live("DaemonSet", name, status=status)
        answers = {**CLUSTER, **STACK, NODES.key: nodes, f"DaemonSet/gpu-operator/{name}": live}
        return {key for key in keys(gpu, answers) if "#" in key and "component" not in key}

    assert found("nvidia-dcgm", 2, 2) == set()
    assert found("nvidia-dcgm", 2, 1) == {"Pod/gpu-operator/*?app=nvidia-dcgm#unready"}
    (read,) = found("nvidia-dcgm", 1, 1)
    assert read.endswith("?nvidia.com/gpu.present=true#")
    validators = "Pod/gpu-operator/*?app=nvidia-operator-validator#"
    assert found("nvidia-operator-validator", 2, 1) == {
        f"{validators}unready",
        f"{validators}spec.nodeName=b",
    }
