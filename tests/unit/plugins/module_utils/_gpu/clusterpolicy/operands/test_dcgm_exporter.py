# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.dcgm_exporter import (
    OPERAND,
)

NAME = "nvidia-dcgm-exporter"
LABELS = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS"


def parts_of(gpu, exporter=None, **spec):
    app = gpu.app({"dcgmExporter": exporter or {}, **spec})
    pod = gpu.pod(OPERAND, app)
    return gpu.children(OPERAND, app), pod, gpu.env(gpu.container(pod, NAME))


def test_dcgm_exporter_host_engine(gpu):
    assert parts_of(gpu)[2]["DCGM_REMOTE_HOSTENGINE_INFO"] == "nvidia-dcgm:5555"
    assert "DCGM_REMOTE_HOSTENGINE_INFO" not in parts_of(gpu, dcgm={"enabled": False})[2]


@pytest.mark.parametrize(
    ("address", "is_local"),
    [("localhost:5555", True), ("127.0.0.1", True), ("localhost.test:5", False), ("dcgm:1", False)],
)
def test_dcgm_exporter_engine_on_node(gpu, address, is_local):
    env = [{"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": address}]
    _children, pod, _env = parts_of(gpu, {"env": env})
    assert pod.get("hostNetwork", False) is is_local


@pytest.mark.parametrize(
    ("exporter", "reads"),
    [
        ({}, False),
        ({"enablePodLabels": True}, True),
        ({"enablePodUID": True}, True),
        ({"env": [{"name": LABELS, "value": "true"}]}, True),
        ({"enablePodLabels": True, "env": [{"name": LABELS, "value": "false"}]}, False),
    ],
)
def test_dcgm_exporter_reads_pods(gpu, exporter, reads):
    children, pod, _env = parts_of(gpu, exporter)
    assert (("ClusterRole", f"{NAME}-read-pods") in children) is reads
    assert pod["automountServiceAccountToken"] is reads


def test_dcgm_exporter_token_for_config_map(gpu):
    env = [{"name": "DCGM_EXPORTER_CONFIGMAP_DATA", "value": "a:b"}]
    children, pod, _env = parts_of(gpu, {"env": env})
    assert pod["automountServiceAccountToken"] is True
    assert ("ClusterRole", f"{NAME}-read-pods") not in children
    env[0]["value"] = "none"
    assert parts_of(gpu, {"env": env})[1]["automountServiceAccountToken"] is False


def test_dcgm_exporter_pod_metadata(gpu):
    env = parts_of(gpu, {"enablePodLabels": True, "podLabelAllowlistRegex": ["^a$", "^b$"]})[2]
    assert env[LABELS] == "true"
    assert env["DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"] == "^a$,^b$"


def test_dcgm_exporter_files(gpu):
    mapping = {"enabled": True, "directory": "/jobs"}
    exporter = {"config": {"name": "metrics"}, "hpcJobMapping": mapping}
    _children, pod, env = parts_of(gpu, exporter)
    mounts = gpu.mounts(gpu.container(pod, NAME))
    path = "/etc/dcgm-exporter/dcgm-metrics.csv"
    assert (env["DCGM_EXPORTER_COLLECTORS"], mounts[path]) == (path, "metrics-config")
    assert (env["DCGM_HPC_JOB_MAPPING_DIR"], mounts["/jobs"]) == ("/jobs", "hpc-job-mapping")


@pytest.mark.parametrize(
    ("monitor", "has_monitors", "is_made"),
    [({"enabled": True}, True, True), ({"enabled": True}, False, False), ({}, True, False)],
)
def test_dcgm_exporter_service_monitor(gpu, monitor, has_monitors, is_made):
    app = gpu.app({"dcgmExporter": {"serviceMonitor": monitor}}, has_monitors=has_monitors)
    assert (("ServiceMonitor", NAME) in gpu.children(OPERAND, app)) is is_made


def test_dcgm_exporter_service(gpu):
    exporter = {
        "service": {"type": "NodePort", "internalTrafficPolicy": "Local"},
        "annotations": {"a": "b"},
        "hostPID": True,
    }
    children, pod, _env = parts_of(gpu, exporter, hostPaths={"kubeletRootDir": "/data/kubelet/"})
    service = children["Service", NAME]["spec"]
    assert (service["type"], service["internalTrafficPolicy"]) == ("NodePort", "Local")
    template = children["DaemonSet", NAME]["spec"]["template"]
    assert template["metadata"]["annotations"] == {"a": "b"}
    assert pod["hostPID"] is True
    assert gpu.paths(pod)["pod-gpu-resources"] == "/data/kubelet/pod-resources"
