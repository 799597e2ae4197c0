# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.feature_discovery import (
    OPERAND,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.images import IMAGES

NAME = "gpu-feature-discovery"


def test_feature_discovery_operator_env(gpu):
    env = [
        {"name": "MIG_STRATEGY", "value": "mine"},
        {"name": "CONFIG_FILE", "value": "mine"},
        {"name": "GFD_SLEEP_INTERVAL", "value": "5s"},
    ]
    spec = {
        "gfd": {"env": env},
        "mig": {"strategy": "single"},
        "devicePlugin": {"config": {"name": "c"}},
    }
    found = gpu.env(gpu.container(gpu.pod(OPERAND, gpu.app(spec)), NAME))
    assert (found["MIG_STRATEGY"], found["CONFIG_FILE"]) == ("single", "/config/config.yaml")
    assert found["GFD_SLEEP_INTERVAL"] == "5s"


def test_feature_discovery_plugin_config(gpu):
    plugin = {"image": "r.test/p:1", "config": {"name": "c"}, "imagePullSecrets": ["s"]}
    pod = gpu.pod(OPERAND, gpu.app({"devicePlugin": plugin}))
    assert gpu.container(pod, NAME)["image"] == IMAGES["GFD_IMAGE"]
    side = gpu.container(pod, "config-manager")
    assert side["image"] == "r.test/p:1"
    assert gpu.env(side)["PROCESS_TO_SIGNAL"] == NAME
    assert pod["imagePullSecrets"] == [{"name": "s"}]
    del plugin["config"]
    assert "imagePullSecrets" not in gpu.pod(OPERAND, gpu.app({"devicePlugin": plugin}))


def test_feature_discovery_host_network(gpu):
    assert gpu.pod(OPERAND, gpu.app({"gfd": {"hostNetwork": True}}))["hostNetwork"] is True
