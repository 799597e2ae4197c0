# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""MPS control daemon, on nodes that share GPUs through the Multi-Process Service."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...pods import (
    BOTH_WAYS,
    DIRECTORY,
    NODE_NAME,
    PRIVILEGED,
    Container,
    Item,
    complete_pod,
    host_path,
    mount,
)
from ...rbac import role_names
from ..app import PolicyApp
from ..daemonset import (
    Workload,
    add_mig_env,
    build_daemon_set,
    place_on_host,
    wait_for_toolkit,
)
from ..operand import Operand
from ..plugin_config import add_plugin_config
from .device_plugin import ACCOUNT, IMAGE, mps_volumes

_NAME, _MAIN = "nvidia-device-plugin-mps-control-daemon", "mps-control-daemon-ctr"
_PROCESS = "/usr/bin/mps-control-daemon"


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    if app.nodes.with_gpu:
        workload = Workload(
            _NAME,
            "device-plugin",
            ACCOUNT,
            nodes={"nvidia.com/mps.capable": "true"},
            constraint="hostmount-anyuid",
            gpu_container=_MAIN,
        )
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    plugin = app.spec.device_plugin
    main, mounts = _main(), _mounts()
    pod: Item = {
        "hostPID": True,
        "initContainers": [wait_for_toolkit(app), mounts],
        "containers": [main],
        "volumes": [host_path("run-nvidia", "/run/nvidia", DIRECTORY), *mps_volumes(app)],
    }
    place_on_host(app, pod)
    for container in (mounts, main):
        container["image"] = app.image(plugin, IMAGE)
        container["imagePullPolicy"] = plugin.pull_policy
        if plugin.resources:
            container["resources"] = dict(plugin.resources)
    add_plugin_config(app, pod, main, plugin, _PROCESS)
    add_mig_env(app, main)
    return complete_pod(pod, plugin, before=[app.spec.validator])


def _mounts() -> Container:
    return {
        "name": "mps-control-daemon-mounts",
        "command": ["mps-control-daemon", "mount-shm"],
        "securityContext": PRIVILEGED,
        "volumeMounts": [mount("mps-root", "/mps", BOTH_WAYS)],
    }


def _main() -> Container:
    return {
        "name": _MAIN,
        "command": ["mps-control-daemon"],
        "env": [
            NODE_NAME,
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},
        ],
        "securityContext": PRIVILEGED,
        "volumeMounts": [mount("mps-shm", "/dev/shm"), mount("mps-root", "/mps")],
    }


OPERAND = Operand(
    "state-mps-control-daemon",
    objects=(*role_names(_NAME, has_cluster_role=True), ("DaemonSet", _NAME)),
    children=_children,
    is_enabled=lambda spec: spec.device_plugin.is_enabled,
)
