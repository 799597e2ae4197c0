# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.driver import (
    OPERAND,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import DAEMON_SETS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.images import IMAGES

KERNEL = "feature.node.kubernetes.io/kernel-version.full"
PRECOMPILED = {"usePrecompiled": True, "repository": "r.test", "image": "d", "version": "1"}
MAIN = "nvidia-driver-ctr"


def daemon_sets(gpu, spec, **more):
    found = gpu.children(OPERAND, gpu.app(spec, **more))
    return {name: item for (kind, name), item in found.items() if kind == "DaemonSet"}


def test_driver_operating_system(gpu):
    (found,) = daemon_sets(gpu, {}).values()
    assert found["metadata"]["labels"]["nvidia.com/precompiled"] == "false"
    assert found["spec"]["updateStrategy"] == {"type": "OnDelete"}
    pod = found["spec"]["template"]["spec"]
    assert gpu.container(pod, MAIN)["image"] == f"{IMAGES['DRIVER_IMAGE']}-ubuntu24.04"
    assert gpu.container(pod, "k8s-driver-manager")["image"] == IMAGES["DRIVER_MANAGER_IMAGE"]
    digests = {
        gpu.env(gpu.container(pod, name))["DRIVER_CONFIG_DIGEST"]
        for name in (MAIN, "k8s-driver-manager")
    }
    assert len(digests) == 1


def test_driver_live_digest(gpu):
    (live,) = daemon_sets(gpu, {}).values()
    for container in live["spec"]["template"]["spec"]["containers"]:
        container["env"][-1]["value"] = "theirs"
    live["spec"]["template"]["spec"]["initContainers"][0]["env"][-1]["value"] = "theirs"
    (found,) = daemon_sets(gpu, {}, live=[live]).values()
    assert (
        gpu.env(gpu.container(found["spec"]["template"]["spec"], MAIN))["DRIVER_CONFIG_DIGEST"]
        == "theirs"
    )
    (changed,) = daemon_sets(gpu, {"driver": {"kernelModuleType": "open"}}, live=[live]).values()
    env = gpu.env(gpu.container(changed["spec"]["template"]["spec"], MAIN))
    assert env["DRIVER_CONFIG_DIGEST"] != "theirs"


def test_driver_precompiled_per_kernel(gpu):
    nodes = [gpu.node("a"), gpu.node("b", {KERNEL: "5.14.0-427.el9_4.x86_64"}), gpu.node("c")]
    found = daemon_sets(gpu, {"driver": PRECOMPILED}, nodes=nodes)
    assert list(found) == [
        "nvidia-driver-daemonset-5.14.0-427.el9.4-ubuntu24.04",
        "nvidia-driver-daemonset-6.8.0-60-generic-ubuntu24.04",
    ]
    for name, kernel in zip(found, ("5.14.0-427.el9_4.x86_64", "6.8.0-60-generic"), strict=True):
        template = found[name]["spec"]["template"]
        assert template["spec"]["nodeSelector"][KERNEL] == kernel
        assert template["metadata"]["labels"]["nvidia.com/precompiled"] == "true"
        assert template["metadata"]["labels"]["app"] == name
        image = gpu.container(template["spec"], MAIN)["image"]
        assert image == f"r.test/d:1-{kernel}-ubuntu24.04"


@pytest.mark.parametrize(
    ("field", "what"), [("gds", "GPUDirect Storage driver (nvidia-fs)"), ("gdrcopy", "GDRCopy")]
)
def test_driver_precompiled_side_containers(gpu, field, what):
    with pytest.raises(NimError) as caught:
        daemon_sets(gpu, {"driver": PRECOMPILED, field: {"enabled": True}})
    assert str(caught.value) == (
        "unable to deploy precompiled driver daemonsets [failed to handle Precompiled Driver"
        f" Daemonset for version 6.8.0-60-generic: {what} is not supported along with pre-compiled"
        " NVIDIA drivers]"
    )


@pytest.mark.parametrize(
    ("driver", "why"),
    [
        (
            {"kernelModuleConfig": {"name": "x"}},
            'driver.kernelModuleConfig.name: could not get ConfigMap x from client: ConfigMap "x" not found in namespace gpu-operator',
        ),
        (
            {"secretEnv": "x"},
            'driver.secretEnv: could not get Secret x from client: Secret "x" not found in namespace gpu-operator',
        ),
    ],
)
def test_driver_missing_objects(gpu, driver, why):
    with pytest.raises(NimError, match=re.escape(why)):
        daemon_sets(gpu, {"driver": driver})


def test_driver_config_map_files(gpu):
    live = [gpu.live("ConfigMap", "x", data={"b.conf": "", "a.conf": ""})]
    (found,) = daemon_sets(
        gpu, {"driver": {"kernelModuleConfig": {"name": "x"}}}, live=live
    ).values()
    mounts = gpu.mounts(gpu.container(found["spec"]["template"]["spec"], MAIN))
    assert [path for path in mounts if path.endswith(".conf")] == [
        "/drivers/a.conf",
        "/drivers/b.conf",
    ]


def test_driver_children_before_error(gpu):
    made = []
    with pytest.raises(NimError):
        made.extend(OPERAND.children(gpu.app({"driver": {"secretEnv": "x"}})))
    assert [item["kind"] for item in made[-2:]] == ["ClusterRoleBinding", "ConfigMap"]


def test_driver_names_before_creation(gpu):
    """So that it is read by its name, and waited for in the pass that makes it."""
    name = "nvidia-driver-daemonset-6.8.0-60-generic-ubuntu24.04"
    assert name in OPERAND.daemon_sets(gpu.app({"driver": PRECOMPILED}))
    wrong = gpu.app({"driver": PRECOMPILED, "gds": {"enabled": True}})
    assert OPERAND.daemon_sets(wrong) == ["nvidia-driver-daemonset"]


def others(gpu, spec, **status):
    name = "nvidia-driver-daemonset-5.15-ubuntu22.04"
    live = gpu.live("DaemonSet", name, status=status)
    foreign = gpu.live("DaemonSet", "nvidia-driver-daemonset-x", owner="b")
    app = gpu.app(spec, live=[live], answers={DAEMON_SETS.key: [live, foreign]})
    return [item for item in OPERAND.names(app) if item[0] == "DaemonSet"], OPERAND.keeps(
        app, "DaemonSet", name
    )


def test_driver_keeps_other_kernels(gpu):
    names, is_kept = others(gpu, {"driver": PRECOMPILED}, desiredNumberScheduled=1)
    assert names == [
        ("DaemonSet", "nvidia-driver-daemonset"),
        ("DaemonSet", "nvidia-driver-daemonset-5.15-ubuntu22.04"),
        ("DaemonSet", "nvidia-driver-daemonset-6.8.0-60-generic-ubuntu24.04"),
    ]
    assert is_kept
    assert others(gpu, {"driver": PRECOMPILED}, numberMisscheduled=1)[1]
    assert not others(gpu, {"driver": PRECOMPILED})[1]


def test_driver_keeps_not_other_mode(gpu):
    assert not others(gpu, {}, desiredNumberScheduled=1)[1]
    app = gpu.app({"driver": PRECOMPILED})
    assert not OPERAND.keeps(app, "DaemonSet", "nvidia-driver-daemonset")
