# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTER_KIND,
    GPU_CLUSTERS,
    NODES,
    NVIDIA_DRIVERS,
    POLICIES,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import DAEMON_SETS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.pools import (
    OS_LABEL,
    daemon_set_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.reads import reads

FIRST = {
    read.key
    for read in (POLICIES, GPU_CLUSTER_KIND, CLUSTER_VERSIONS, NODES, NVIDIA_DRIVERS, DAEMON_SETS)
}


def keys(app):
    return {read.key for read in reads(app)}


def test_reads_cluster_first(nvd):
    app = nvd.app()
    app.observed.answers = {OPERATOR: {}}
    assert keys(app) == FIRST


def test_reads_gpu_clusters(nvd):
    app = nvd.app()
    app.observed.answers = {OPERATOR: {}, GPU_CLUSTER_KIND.key: {"metadata": {}}}
    assert keys(app) == FIRST | {GPU_CLUSTERS.key}


def test_reads_not_served(nvd):
    assert keys(nvd.app(policy=False)) == FIRST
    assert keys(nvd.app({"driverType": "vgpu-host-manager"})) == FIRST


def test_reads_children(nvd):
    old = nvd.live("DaemonSet", "old", metadata={"labels": {OS_LABEL: "ubuntu22.04"}})
    app = nvd.app({"secretEnv": "s", "repoConfig": {"name": "r"}}, live=[old])
    found = keys(app)
    name = daemon_set_name(app, "ubuntu24.04")
    for key in (
        f"DaemonSet/gpu-operator/{name}",
        "DaemonSet/gpu-operator/old",
        "ServiceAccount/gpu-operator/nvidia-gpu-driver-a-ubuntu24.04",
        "ClusterRole/nvidia-gpu-driver-a-ubuntu22.04",
        "Secret/gpu-operator/s",
        "ConfigMap/gpu-operator/r",
    ):
        assert key in found, sorted(found)


def test_reads_unready_pods(nvd):
    app = nvd.app()
    name = daemon_set_name(app, "ubuntu24.04")
    unready = nvd.live("DaemonSet", name, status={"desiredNumberScheduled": 1})
    pods = f"Pod/gpu-operator/*?app={name}#unready"
    assert pods in keys(nvd.app(live=[unready]))
    assert pods not in keys(nvd.app(live=[nvd.live("DaemonSet", name)]))


def test_reads_upgrade(nvd):
    def has_revisions(app):
        return any(key.startswith("ControllerRevision/") for key in keys(app))

    assert has_revisions(nvd.app())
    assert not has_revisions(nvd.app(policy={}))
    assert not has_revisions(nvd.app({"upgradePolicy": {"autoUpgrade": False}}))
    assert not has_revisions(nvd.app({"upgradePolicy": {"maxUnavailable": "x"}}))
