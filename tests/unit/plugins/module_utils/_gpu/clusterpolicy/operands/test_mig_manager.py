# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import yaml
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.mig_manager import (
    OPERAND,
)

NAME = "nvidia-mig-manager"
DEFAULT = ("ConfigMap", "default-mig-parted-config")


def volume(pod, name):
    return next(item for item in pod["volumes"] if item["name"] == name)["configMap"]


def test_mig_manager_default_profiles(gpu):
    app = gpu.app({})
    pod = gpu.pod(OPERAND, app)
    env = gpu.env(gpu.container(pod, NAME))
    assert env["DEFAULT_CONFIG_FILE"] == "/mig-parted-config/config-default.yaml"
    assert "CONFIG_FILE" not in env
    assert volume(pod, "mig-parted-config")["items"] == [
        {"key": "config.yaml", "path": "config-default.yaml"}
    ]
    config = yaml.safe_load(gpu.children(OPERAND, app)[DEFAULT]["data"]["config.yaml"])
    assert set(config["mig-configs"]) == {"all-disabled", "all-enabled"}


def test_mig_manager_own_config(gpu):
    app = gpu.app({"migManager": {"config": {"name": "c"}, "gpuClientsConfig": {"name": "d"}}})
    pod = gpu.pod(OPERAND, app)
    env = gpu.env(gpu.container(pod, NAME))
    assert env["CONFIG_FILE"] == "/mig-parted-config/config.yaml"
    assert "DEFAULT_CONFIG_FILE" not in env
    assert volume(pod, "mig-parted-config") == {"name": "c"}
    assert volume(pod, "gpu-clients") == {"name": "d"}
    found = gpu.children(OPERAND, app)
    assert DEFAULT not in found
    assert ("ConfigMap", "default-gpu-clients") not in found


def test_mig_manager_keeps_default(gpu):
    live = [gpu.live("ConfigMap", "default-mig-parted-config")]
    app = gpu.app({"migManager": {"config": {"name": "c"}}}, live=live)
    assert DEFAULT in gpu.children(OPERAND, app)


def test_mig_manager_own_config_default_name(gpu):
    app = gpu.app({"migManager": {"config": {"name": "default-mig-parted-config"}}})
    assert DEFAULT in gpu.children(OPERAND, app)
    assert "CONFIG_FILE" in gpu.env(gpu.container(gpu.pod(OPERAND, app), NAME))


def test_mig_manager_gpu_clients(gpu):
    found = gpu.children(OPERAND, gpu.app({}))["ConfigMap", "default-gpu-clients"]
    clients = yaml.safe_load(found["data"]["clients.yaml"])["systemd-services"]
    assert clients[0] == "nvsm.service"
    assert len(clients) == 9


def test_mig_manager_user_env(gpu):
    manager = {"env": [{"name": "CDI_ENABLED", "value": "no"}]}
    env = gpu.env(gpu.container(gpu.pod(OPERAND, gpu.app({"migManager": manager})), NAME))
    assert env["CDI_ENABLED"] == "no"
    assert "NVIDIA_CDI_HOOK_PATH" in env
    off = gpu.app({"cdi": {"enabled": False}})
    assert "CDI_ENABLED" not in gpu.env(gpu.container(gpu.pod(OPERAND, off), NAME))
