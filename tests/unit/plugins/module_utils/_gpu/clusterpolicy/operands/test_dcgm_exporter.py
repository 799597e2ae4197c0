# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.dcgm_exporter import (
    OPERAND,
)

NAME = "nvidia-dcgm-exporter"
LABELS = "DCGM_EXPORTER_KUBERNETES_ENABLE_POD_LABELS"


def look(gpu, exporter=None, **spec):
    app = gpu.app({"dcgmExporter": exporter or {}, **spec})
    pod = gpu.pod(OPERAND, app)
    return gpu.children(OPERAND, app), pod, gpu.env(gpu.container(pod, NAME))


def test_it_asks_the_host_engine_where_there_is_one(gpu):
    assert look(gpu)[2]["DCGM_REMOTE_HOSTENGINE_INFO"] == "nvidia-dcgm:5555"
    assert "DCGM_REMOTE_HOSTENGINE_INFO" not in look(gpu, dcgm={"enabled": False})[2]


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("localhost:5555", True),
        ("127.0.0.1", True),
        ("localhost.test:5555", False),
        ("dcgm:1", False),
    ],
)
def test_a_host_engine_of_the_node_is_reached_from_its_network(gpu, address, is_local):
    env = [{"name": "DCGM_REMOTE_HOSTENGINE_INFO", "value": address}]
    _children, pod, _env = look(gpu, {"env": env})
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
def test_it_may_read_pods_where_it_must(gpu, exporter, reads):
    children, pod, _env = look(gpu, exporter)
    assert (("ClusterRole", f"{NAME}-read-pods") in children) is reads
    assert pod["automountServiceAccountToken"] is reads


def test_it_gets_a_token_to_read_a_list_of_metrics(gpu):
    env = [{"name": "DCGM_EXPORTER_CONFIGMAP_DATA", "value": "a:b"}]
    children, pod, _env = look(gpu, {"env": env})
    assert pod["automountServiceAccountToken"] is True
    assert ("ClusterRole", f"{NAME}-read-pods") not in children
    env[0]["value"] = "none"
    assert look(gpu, {"env": env})[1]["automountServiceAccountToken"] is False


def test_metadata_of_pods(gpu):
    env = look(gpu, {"enablePodLabels": True, "podLabelAllowlistRegex": ["^a$", "^b$"]})[2]
    assert env[LABELS] == "true"
    assert env["DCGM_EXPORTER_KUBERNETES_POD_LABEL_ALLOWLIST_REGEX"] == "^a$,^b$"


def test_a_list_of_metrics_and_a_mapping_of_jobs(gpu):
    exporter = {
        "config": {"name": "metrics"},
        "hpcJobMapping": {"enabled": True, "directory": "/jobs"},
    }
    _children, pod, env = look(gpu, exporter)
    mounts = gpu.mounts(gpu.container(pod, NAME))
    path = "/etc/dcgm-exporter/dcgm-metrics.csv"
    assert (env["DCGM_EXPORTER_COLLECTORS"], mounts[path]) == (path, "metrics-config")
    assert (env["DCGM_HPC_JOB_MAPPING_DIR"], mounts["/jobs"]) == ("/jobs", "hpc-job-mapping")


@pytest.mark.parametrize(
    ("monitor", "has_monitors", "is_made"),
    [({"enabled": True}, True, True), ({"enabled": True}, False, False), ({}, True, False)],
)
def test_its_service_monitor_must_be_enabled(gpu, monitor, has_monitors, is_made):
    app = gpu.app({"dcgmExporter": {"serviceMonitor": monitor}}, has_monitors=has_monitors)
    assert (("ServiceMonitor", NAME) in gpu.children(OPERAND, app)) is is_made


def test_its_service_and_its_pods(gpu):
    exporter = {
        "service": {"type": "NodePort", "internalTrafficPolicy": "Local"},
        "annotations": {"a": "b"},
        "hostPID": True,
    }
    children, pod, _env = look(gpu, exporter, hostPaths={"kubeletRootDir": "/data/kubelet/"})
    service = children["Service", NAME]["spec"]
    assert (service["type"], service["internalTrafficPolicy"]) == ("NodePort", "Local")
    template = children["DaemonSet", NAME]["spec"]["template"]
    assert template["metadata"]["annotations"] == {"a": "b"}
    assert pod["hostPID"] is True
    assert gpu.paths(pod)["pod-gpu-resources"] == "/data/kubelet/pod-resources"
