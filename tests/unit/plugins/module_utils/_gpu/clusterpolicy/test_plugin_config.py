# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.plugin_config import (
    add_plugin_config,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.operand_spec import parse_operand

CONFIG = {"devicePlugin": {"config": {"name": "sharing", "default": "slices"}}}


def configured(gpu, spec, operand=None, **more):
    main = {"name": "main", "volumeMounts": []}
    pod = {"initContainers": [], "containers": [main], "volumes": [], **more}
    add_plugin_config(gpu.app(spec), pod, main, parse_operand(operand), "proc")
    return pod, main


def test_add_plugin_config_none(gpu):
    pod, main = configured(gpu, {})
    assert (len(pod["containers"]), pod["volumes"], main) == (
        1,
        [],
        {"name": "main", "volumeMounts": []},
    )
    assert "shareProcessNamespace" not in pod


def test_add_plugin_config_side_container(gpu):
    pod, main = configured(gpu, CONFIG, {"resources": {"limits": {"cpu": "1"}}})
    assert gpu.env(main) == {"CONFIG_FILE": "/config/config.yaml"}
    assert gpu.mounts(main) == {"/config": "config", "/available-configs": "sharing"}
    assert pod["volumes"] == [
        {"name": "sharing", "configMap": {"name": "sharing"}},
        {"name": "config", "emptyDir": {}},
    ]
    assert pod["shareProcessNamespace"] is True
    side = gpu.container(pod, "config-manager")
    assert side["securityContext"] == {"privileged": True}
    assert side["resources"] == {"limits": {"cpu": "1"}}
    env = gpu.env(side)
    assert (env["ONESHOT"], env["SEND_SIGNAL"], env["SIGNAL"]) == ("false", "true", "1")
    assert (env["PROCESS_TO_SIGNAL"], env["DEFAULT_CONFIG"]) == ("proc", "slices")


def test_add_plugin_config_init_container(gpu):
    pod, _main = configured(gpu, CONFIG)
    first = gpu.container(pod, "config-manager-init")
    assert "securityContext" not in first
    env = gpu.env(first)
    assert (env["ONESHOT"], env["SEND_SIGNAL"], env["SIGNAL"]) == ("true", "false", "")
    assert env["PROCESS_TO_SIGNAL"] == ""


def test_add_plugin_config_host_pid(gpu):
    pod, _main = configured(gpu, CONFIG, hostPID=True)
    assert "shareProcessNamespace" not in pod
