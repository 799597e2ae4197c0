# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.mps import (
    OPERAND,
)

MAIN = "mps-control-daemon-ctr"


def test_mps_node_selector(gpu):
    (found,) = gpu.children(OPERAND, gpu.app({})).values()
    assert found["spec"]["template"]["spec"]["nodeSelector"] == {
        "nvidia.com/gpu.deploy.device-plugin": "true",
        "nvidia.com/mps.capable": "true",
    }
    assert found["spec"]["template"]["spec"]["serviceAccountName"] == "nvidia-device-plugin"


def test_mps_reference_objects(gpu):
    name = "nvidia-device-plugin-mps-control-daemon"
    assert ("ServiceAccount", name) in OPERAND.names(gpu.app({}))
    assert ("ClusterRole", name) in OPERAND.names(gpu.app({}))


def test_mps_plugin_config(gpu):
    plugin = {
        "image": "r.test/p:1",
        "resources": {"limits": {"cpu": "1"}},
        "args": ["x"],
        "env": [{"name": "A", "value": "1"}],
        "config": {"name": "c"},
        "mps": {"root": "/var/mps"},
        "hostNetwork": True,
    }
    pod = gpu.pod(OPERAND, gpu.app({"devicePlugin": plugin}))
    for name in (MAIN, "mps-control-daemon-mounts", "config-manager"):
        container = gpu.container(pod, name)
        assert container["image"] == "r.test/p:1"
        assert container["resources"] == {"limits": {"cpu": "1"}}
    main = gpu.container(pod, MAIN)
    assert "args" not in main
    assert "A" not in gpu.env(main)
    assert gpu.env(main)["CONFIG_FILE"] == "/config/config.yaml"
    side = gpu.env(gpu.container(pod, "config-manager"))
    assert side["PROCESS_TO_SIGNAL"] == "/usr/bin/mps-control-daemon"
    assert gpu.paths(pod)["mps-root"] == "/var/mps"
    assert "shareProcessNamespace" not in pod


def test_mps_disabled_with_plugin(gpu):
    assert not OPERAND.is_enabled(gpu.app({"devicePlugin": {"enabled": False}}).spec)
