# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.daemonset import (
    Workload,
    add_mig_env,
    build_daemon_set,
    place_on_host,
    validate,
    wait_for_toolkit,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.scripts import TEXTS, WAIT_FOR_TOOLKIT

PART_OF = "app.kubernetes.io/part-of"
LIMIT = {"rollingUpdate": {"maxUnavailable": "3"}}


def build(gpu, spec=None, pod=None, live=(), **fields):
    app = gpu.app(spec or {}, live=live)
    workload = Workload("x", "x-label", "x-account", **fields)
    return build_daemon_set(app, workload, pod or {"containers": [{"name": "main"}], "volumes": []})


def test_build_daemon_set_common(gpu):
    found = build(gpu, labels={PART_OF: "y"}, constraint="c", nodes={"n": "1"})
    assert found["metadata"]["labels"] == {"app": "x", PART_OF: "y"}
    assert found["metadata"]["annotations"] == {"openshift.io/scc": "c"}
    assert found["spec"]["selector"]["matchLabels"] == {"app": "x", PART_OF: "y"}
    assert found["spec"]["updateStrategy"] == {"type": "RollingUpdate"}
    template = found["spec"]["template"]
    assert template["metadata"] == {"labels": {"app": "x", PART_OF: "y"}}
    pod = template["spec"]
    assert pod["nodeSelector"] == {"nvidia.com/gpu.deploy.x-label": "true", "n": "1"}
    assert pod["serviceAccountName"] == "x-account"
    assert pod["priorityClassName"] == "system-node-critical"
    assert [item["key"] for item in pod["tolerations"]] == ["nvidia.com/gpu"]
    assert "securityContext" not in pod
    assert "runtimeClassName" not in pod


def test_build_daemon_set_settings(gpu):
    given = {
        "labels": {"app": "mine", PART_OF: "mine", "team": "a"},
        "annotations": {"a/b": "1"},
        "tolerations": [{"key": "t"}],
        "priorityClassName": "p",
        "podSecurityContext": {"fsGroup": 5},
    }
    found = build(gpu, {"daemonsets": given}, labels={PART_OF: "y"}, annotations={"own": "1"})
    assert found["metadata"]["labels"] == {"app": "mine", PART_OF: "mine", "team": "a"}
    assert found["metadata"]["annotations"] == {"a/b": "1"}
    assert found["spec"]["selector"]["matchLabels"] == {"app": "x", PART_OF: "y"}
    template = found["spec"]["template"]
    assert template["metadata"]["labels"] == {"app": "x", PART_OF: "y", "team": "a"}
    assert template["metadata"]["annotations"] == {"own": "1", "a/b": "1"}
    assert template["spec"]["tolerations"] == [{"key": "t"}]
    assert template["spec"]["priorityClassName"] == "p"
    assert template["spec"]["securityContext"] == {"fsGroup": 5}


@pytest.mark.parametrize(
    ("daemonsets", "is_on_delete", "strategy"),
    [
        ({}, True, {"type": "OnDelete"}),
        ({"updateStrategy": "OnDelete"}, False, {"type": "OnDelete"}),
        (LIMIT, False, {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 3}}),
        ({"rollingUpdate": {"maxUnavailable": "many"}}, True, {"type": "OnDelete"}),
    ],
)
def test_build_daemon_set_strategy(gpu, daemonsets, is_on_delete, strategy):
    found = build(gpu, {"daemonsets": daemonsets}, is_on_delete=is_on_delete)
    assert found["spec"]["updateStrategy"] == strategy


def test_build_daemon_set_runtime_class(gpu):
    pod = build(gpu, {"operator": {"runtimeClass": "r"}}, gpu_container="main")["spec"]["template"]
    assert pod["spec"]["runtimeClassName"] == "r"
    assert "annotations" not in pod["metadata"]


def test_build_daemon_set_nri_annotation(gpu):
    spec = {"cdi": {"nriPluginEnabled": True}}
    pod = build(gpu, spec, gpu_container="main")["spec"]["template"]
    assert "runtimeClassName" not in pod["spec"]
    devices = {"nvidia.cdi.k8s.io/container.main": "management.nvidia.com/gpu=all"}
    assert pod["metadata"]["annotations"] == devices


def test_build_daemon_set_live_texts(gpu):
    def pod(text):
        container = {"name": "main", "command": ["sh", "-c"], "args": [text]}
        return {"containers": [container], "volumes": []}

    live = build(gpu, pod=pod("theirs"))
    found = build(gpu, pod=pod(WAIT_FOR_TOOLKIT), live=[live])
    assert found["spec"]["template"]["spec"]["containers"][0]["args"] == ["theirs"]
    assert WAIT_FOR_TOOLKIT in TEXTS


def host_pod(app):
    volumes = [
        {"name": "host-root", "hostPath": {"path": "/"}},
        {"name": "host-dev-char", "hostPath": {"path": "/dev/char"}},
        {"name": "driver-install-dir", "hostPath": {"path": "/run/nvidia/driver", "type": "x"}},
    ]
    init = [validate(app, "driver-validation", [], []), wait_for_toolkit(app)]
    return {"initContainers": init, "containers": [{"name": "main"}], "volumes": volumes}


def test_place_on_host_default(gpu):
    app = gpu.app({})
    pod = host_pod(app)
    place_on_host(app, pod)
    assert gpu.paths(pod)["host-root"] == "/"
    assert [gpu.env(item) for item in [*pod["initContainers"], *pod["containers"]]] == [{}, {}, {}]


def test_place_on_host_paths(gpu):
    paths = {"rootFS": "/host-root", "driverInstallDir": "/drv"}
    app = gpu.app({"hostPaths": paths})
    pod = host_pod(app)
    place_on_host(app, pod)
    assert gpu.paths(pod) == {
        "host-root": "/host-root",
        "host-dev-char": "/host-root/dev/char",
        "driver-install-dir": "/drv",
    }
    assert gpu.env(gpu.container(pod, "driver-validation")) == {
        "HOST_ROOT": "/host-root",
        "DRIVER_INSTALL_DIR": "/drv",
        "DRIVER_INSTALL_DIR_CTR_PATH": "/drv",
    }
    assert gpu.env(gpu.container(pod, "main")) == {"HOST_ROOT": "/host-root"}


def test_place_on_host_validation_env(gpu):
    validator = {
        "driver": {"env": [{"name": "D", "value": "1"}]},
        "toolkit": {"env": [{"name": "T", "value": "2"}]},
        "resources": {"limits": {"cpu": "1"}},
        "imagePullPolicy": "Always",
        "image": "r.test/v:1",
    }
    app = gpu.app({"validator": validator})
    pod = host_pod(app)
    place_on_host(app, pod)
    assert gpu.env(gpu.container(pod, "driver-validation")) == {"D": "1"}
    wait = gpu.container(pod, "toolkit-validation")
    assert gpu.env(wait) == {"T": "2"}
    assert (wait["image"], wait["imagePullPolicy"]) == ("r.test/v:1", "Always")
    assert wait["resources"] == {"limits": {"cpu": "1"}}
    assert wait["securityContext"] == {"privileged": True, "runAsUser": 0}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (None, {"NVIDIA_MIG_MONITOR_DEVICES": "all"}),
        ("none", {"MIG_STRATEGY": "none"}),
        ("mixed", {"MIG_STRATEGY": "mixed", "NVIDIA_MIG_MONITOR_DEVICES": "all"}),
    ],
)
def test_add_mig_env(gpu, strategy, expected):
    container = {}
    add_mig_env(gpu.app({"mig": {"strategy": strategy}}), container)
    assert gpu.env(container) == expected
