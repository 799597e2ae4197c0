# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.device_plugin import (
    OPERAND,
)

MAIN = "nvidia-device-plugin"


def env_of(gpu, spec):
    return gpu.env(gpu.container(gpu.pod(OPERAND, gpu.app(spec)), MAIN))


def test_device_plugin_cdi(gpu):
    env = env_of(gpu, {"toolkit": {"installDir": "/opt/nv"}})
    assert env["DEVICE_LIST_STRATEGY"] == "cdi-annotations,cdi-cri"
    assert env["NVIDIA_CDI_HOOK_PATH"] == "/opt/nv/toolkit/nvidia-cdi-hook"
    assert (env["CDI_ENABLED"], env["CDI_ANNOTATION_PREFIX"]) == ("true", "cdi.k8s.io/")


def test_device_plugin_cdi_without_toolkit(gpu):
    assert "NVIDIA_CDI_HOOK_PATH" not in env_of(gpu, {"toolkit": {"enabled": False}})


def test_device_plugin_without_cdi(gpu):
    env = env_of(gpu, {"cdi": {"enabled": False}})
    assert env["DEVICE_LIST_STRATEGY"] == "envvar"
    assert not [name for name in env if "CDI" in name]


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({}, set()),
        ({"gds": {"enabled": True}}, {"GDS_ENABLED", "MOFED_ENABLED"}),
        ({"gdrcopy": {"enabled": True}}, {"GDRCOPY_ENABLED"}),
    ],
)
def test_device_plugin_gpudirect(gpu, spec, names):
    known = {"GDS_ENABLED", "MOFED_ENABLED", "GDRCOPY_ENABLED"}
    assert known & env_of(gpu, spec).keys() == names


def test_device_plugin_user_env(gpu):
    plugin = {"env": [{"name": "DEVICE_LIST_STRATEGY", "value": "mine"}], "config": {"name": "c"}}
    env = env_of(gpu, {"devicePlugin": plugin, "mig": {"strategy": "single"}})
    assert env["DEVICE_LIST_STRATEGY"] == "mine"
    assert (env["MIG_STRATEGY"], env["CONFIG_FILE"]) == ("single", "/config/config.yaml")


def test_device_plugin_mps_root(gpu):
    app = gpu.app({"devicePlugin": {"mps": {"root": "/var/mps"}}})
    pod = gpu.pod(OPERAND, app)
    paths = gpu.paths(pod)
    assert (paths["mps-root"], paths["mps-shm"]) == ("/var/mps", "/var/mps/shm")
    assert gpu.env(gpu.container(pod, MAIN))["MPS_ROOT"] == "/var/mps"


def test_device_plugin_waits_for_toolkit(gpu):
    pod = gpu.pod(OPERAND, gpu.app({}))
    wait = gpu.container(pod, "toolkit-validation")
    assert gpu.mounts(wait) == {"/run/nvidia/validations": "run-nvidia-validations"}
