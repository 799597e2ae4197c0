# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu import scripts
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.files import Files
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import (
    Images,
    build_driver_pod,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.spec import Driver
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import parse_operand

IMAGES = Images("r.test/d:1-u24", "r.test/m:1", "r.test/fs:1-u24", "r.test/gdr:1-u24")
OFF = parse_operand({}, is_enabled=False)


def pod_of(files=None, **fields):
    given = {"operand": parse_operand({}), "manager": parse_operand({}), "gds": OFF, "gdrcopy": OFF}
    return build_driver_pod(Driver(**{**given, **fields}), IMAGES, files or Files())


def names(pod):
    return [item["name"] for item in pod["containers"]]


def find(pod, name):
    containers = [*pod["initContainers"], *pod["containers"]]
    return next(item for item in containers if item["name"] == name)


def env(pod, name="nvidia-driver-ctr"):
    return {item["name"]: item.get("value") for item in find(pod, name)["env"]}


def test_driver_pod_default():
    pod = pod_of()
    assert names(pod) == ["nvidia-driver-ctr"]
    assert [item["name"] for item in pod["initContainers"]] == ["k8s-driver-manager"]
    assert find(pod, "nvidia-driver-ctr")["image"] == "r.test/d:1-u24"
    assert find(pod, "k8s-driver-manager")["image"] == "r.test/m:1"
    assert "imagePullSecrets" not in pod
    assert "hostNetwork" not in pod


def test_driver_pod_anti_affinity():
    rules = pod_of()["affinity"]["podAntiAffinity"]
    (term,) = rules["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("module_type", "expected"),
    [
        ("auto", {"KERNEL_MODULE_TYPE": "auto"}),
        ("open", {"KERNEL_MODULE_TYPE": "open", "OPEN_KERNEL_MODULES_ENABLED": "true"}),
        ("proprietary", {"KERNEL_MODULE_TYPE": "proprietary"}),
    ],
)
def test_driver_pod_module_type(module_type, expected):
    found = env(pod_of(module_type=module_type))
    assert {key: value for key, value in found.items() if "KERNEL" in key} == expected


def test_driver_pod_rdma():
    pod = pod_of(has_rdma=True)
    assert names(pod) == ["nvidia-driver-ctr", "nvidia-peermem-ctr"]
    assert env(pod)["GPU_DIRECT_RDMA_ENABLED"] == "true"
    assert env(pod, "k8s-driver-manager")["GPU_DIRECT_RDMA_ENABLED"] == "true"
    assert "USE_HOST_MOFED" not in env(pod)
    volumes = {item["name"]: item for item in pod["volumes"]}
    assert volumes["mlnx-ofed-usr-src"]["hostPath"]["path"] == "/run/mellanox/drivers/usr/src"


def test_driver_pod_rdma_host_mofed():
    pod = pod_of(has_rdma=True, uses_host_mofed=True)
    for name in ("nvidia-driver-ctr", "k8s-driver-manager", "nvidia-peermem-ctr"):
        assert env(pod, name)["USE_HOST_MOFED"] == "true"
    volumes = {item["name"]: item for item in pod["volumes"]}
    assert volumes["mlnx-ofed-usr-src"]["hostPath"]["path"] == "/usr/src"


def test_driver_pod_side_containers():
    side = parse_operand({"enabled": True, "env": [{"name": "G", "value": "1"}], "args": ["x"]})
    pod = pod_of(gds=side, gdrcopy=side)
    assert names(pod) == ["nvidia-driver-ctr", "nvidia-fs-ctr", "nvidia-gdrcopy-ctr"]
    assert env(pod)["GDS_ENABLED"] == env(pod)["GDRCOPY_ENABLED"] == "true"
    found = find(pod, "nvidia-fs-ctr")
    assert found["image"] == "r.test/fs:1-u24"
    assert found["args"] == [scripts.GDS_INSTALL], "the spec's args have no effect"
    assert found["startupProbe"]["exec"]["command"] == ["sh", "-c", scripts.GDS_PROBE]
    assert env(pod, "nvidia-fs-ctr") == {"G": "1"}
    assert find(pod, "nvidia-gdrcopy-ctr")["args"] == [scripts.GDRCOPY_INSTALL]


def test_driver_pod_resources():
    operand = parse_operand({"resources": {"limits": {"cpu": "1"}}})
    pod = pod_of(operand=operand, has_rdma=True, gds=parse_operand({}))
    for item in [*pod["initContainers"], *pod["containers"]]:
        assert item["resources"] == {"limits": {"cpu": "1"}}


def test_driver_pod_secret_env():
    pod = pod_of(secret_env="s", gds=parse_operand({}), has_rdma=True)
    assert find(pod, "nvidia-driver-ctr")["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert find(pod, "nvidia-fs-ctr")["envFrom"] == [{"secretRef": {"name": "s"}}]
    assert "envFrom" not in find(pod, "nvidia-peermem-ctr")
    assert "envFrom" not in find(pod_of(secret_env="s", is_precompiled=True), "nvidia-driver-ctr")


def test_driver_pod_probe():
    pod = pod_of(probe={"initialDelaySeconds": 5, "failureThreshold": 0})
    found = find(pod, "nvidia-driver-ctr")["startupProbe"]
    assert (found["initialDelaySeconds"], found["failureThreshold"]) == (5, 120)
    assert (found["timeoutSeconds"], found["periodSeconds"]) == (60, 10)


def test_driver_pod_root():
    pod = pod_of(root="/host-root")
    volumes = {item["name"]: item for item in pod["volumes"]}
    assert volumes["host-root"]["hostPath"]["path"] == "/host-root"
    assert env(pod)["HOST_ROOT"] == env(pod, "k8s-driver-manager")["HOST_ROOT"] == "/host-root"
    assert volumes["nv-firmware"]["hostPath"]["path"] == "/run/nvidia/driver/lib/firmware"


def test_driver_pod_file_mounts():
    one, two, three = ({"name": name, "mountPath": f"/{name}"} for name in "abc")
    files = Files([{"name": "v"}], [one], [two], [three])
    pod = pod_of(files, has_rdma=True, gds=parse_operand({}))
    assert pod["volumes"][-1] == {"name": "v"}
    last = [find(pod, name)["volumeMounts"][-1] for name in names(pod)]
    assert last == [one, two, three]


def test_driver_pod_user_env():
    operand = parse_operand({"env": [{"name": "KERNEL_MODULE_TYPE", "value": "mine"}]})
    manager = parse_operand({"env": [{"name": "ENABLE_AUTO_DRAIN", "value": "true"}]})
    pod = pod_of(operand=operand, manager=manager)
    assert env(pod)["KERNEL_MODULE_TYPE"] == "mine"
    assert env(pod, "k8s-driver-manager")["ENABLE_AUTO_DRAIN"] == "true"


def test_driver_pod_pull_secrets_and_network():
    operand = parse_operand({"hostNetwork": True, "imagePullSecrets": ["b"]})
    pod = pod_of(operand=operand, manager=parse_operand({"imagePullSecrets": ["a", "b"]}))
    assert pod["imagePullSecrets"] == [{"name": "a"}, {"name": "b"}]
    assert pod["hostNetwork"] is True
