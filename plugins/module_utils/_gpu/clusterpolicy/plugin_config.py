# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Device plugin configurations: a node label selects one, and a side container applies it."""

from __future__ import annotations

from ..operand_spec import OperandSpec
from ..pods import (
    NODE_NAME,
    PRIVILEGED,
    Container,
    Item,
    add_volumes,
    config_map,
    mount,
    set_env,
)
from .app import PolicyApp

_FILE = "/config/config.yaml"


def add_plugin_config(
    app: PolicyApp, pod: Item, main: Container, operand: OperandSpec, process: str
) -> None:
    """Add the configuration of the node to a container; ``process`` reloads it on a signal."""
    source = app.spec.plugin.config
    if not source:
        return
    set_env(main, "CONFIG_FILE", _FILE)
    pod["initContainers"].append(_manager(app, operand, ""))
    pod["containers"].append(_manager(app, operand, process))
    main["volumeMounts"] += _mounts(source)
    add_volumes(pod, [config_map(source, source), {"name": "config", "emptyDir": {}}])
    if not pod.get("hostPID"):
        pod["shareProcessNamespace"] = True


def _mounts(source: str) -> list[Item]:
    return [mount("config", "/config"), mount(source, "/available-configs")]


def _manager(app: PolicyApp, operand: OperandSpec, process: str) -> Container:
    """Build the container that copies the configuration; once, if ``process`` is empty."""
    plugin = app.spec.device_plugin
    once, signals = ("false", "true") if process else ("true", "false")
    container: Container = {
        "name": "config-manager" if process else "config-manager-init",
        "image": app.image(plugin, "DEVICE_PLUGIN_IMAGE"),
        "imagePullPolicy": plugin.pull_policy,
        "command": ["config-manager"],
        "volumeMounts": _mounts(app.spec.plugin.config),
    }
    container["env"] = [
        {"name": "ONESHOT", "value": once},
        {"name": "KUBECONFIG"},
        NODE_NAME,
        {"name": "NODE_LABEL", "value": "nvidia.com/device-plugin.config"},
        {"name": "CONFIG_FILE_SRCDIR", "value": "/available-configs"},
        {"name": "CONFIG_FILE_DST", "value": _FILE},
        {"name": "DEFAULT_CONFIG"},
        {"name": "SEND_SIGNAL", "value": signals},
        {"name": "SIGNAL"},
        {"name": "PROCESS_TO_SIGNAL"},
        {"name": "FALLBACK_STRATEGIES", "value": "empty"},
    ]
    set_env(container, "DEFAULT_CONFIG", app.spec.plugin.default)
    if process:
        set_env(container, "SIGNAL", "1")
        set_env(container, "PROCESS_TO_SIGNAL", process)
        container["securityContext"] = PRIVILEGED
    if operand.resources:
        container["resources"] = dict(operand.resources)
    return container
