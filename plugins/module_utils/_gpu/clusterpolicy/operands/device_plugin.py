# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Device plugin: advertises GPUs to the kubelet."""

from __future__ import annotations

import posixpath
import typing as t

from ...._base.types import Manifest
from ...pods import (
    CREATE,
    FROM_HOST,
    PRIVILEGED,
    Container,
    Item,
    apply_operand,
    complete_pod,
    config_map,
    host_path,
    mount,
    set_env,
    set_env_vars,
)
from ...rbac import READ_NODES, permissions, role_names
from ...scripts import DEVICE_PLUGIN_ENTRYPOINT
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

ACCOUNT = "nvidia-device-plugin"
IMAGE = "DEVICE_PLUGIN_IMAGE"

_NAME, _MAIN = "nvidia-device-plugin-daemonset", "nvidia-device-plugin"
_ENTRYPOINT, _KEY = "nvidia-device-plugin-entrypoint", "entrypoint.sh"
_FILES = "run-nvidia-validations"


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, ACCOUNT, (), [READ_NODES])
    yield app.child(
        "ConfigMap", name=_ENTRYPOINT, labels={"app": _NAME}, data={_KEY: DEVICE_PLUGIN_ENTRYPOINT}
    )
    if app.nodes.with_gpu:
        workload = Workload(
            _NAME,
            "device-plugin",
            ACCOUNT,
            constraint="hostmount-anyuid",
            gpu_container=_MAIN,
        )
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    spec, plugin = app.spec, app.spec.device_plugin
    main = _main()
    pod: Item = {
        "initContainers": [wait_for_toolkit(app, _FILES, "/run/nvidia/validations")],
        "containers": [main],
        "volumes": [
            config_map(_ENTRYPOINT, _ENTRYPOINT, mode=0o700),
            host_path("device-plugin", "/var/lib/kubelet/device-plugins"),
            host_path(_FILES, "/run/nvidia/validations", CREATE),
            host_path("driver-install-dir", spec.driver_dir, CREATE),
            host_path("host-root", "/"),
            host_path("cdi-root", "/var/run/cdi", CREATE),
            *mps_volumes(app),
        ],
    }
    place_on_host(app, pod)
    apply_operand(main, plugin, app.image(plugin, IMAGE))
    set_env(main, "MPS_ROOT", spec.plugin.mps_root)
    add_plugin_config(app, pod, main, plugin, _MAIN)
    _add_features(app, main)
    set_env_vars(main, plugin.env)
    return complete_pod(pod, plugin, before=[spec.validator])


def mps_volumes(app: PolicyApp) -> list[Item]:
    """The volumes of the Multi-Process Service."""
    return [
        host_path("mps-root", app.spec.plugin.mps_root, CREATE),
        host_path("mps-shm", posixpath.join(app.spec.plugin.mps_root, "shm")),
    ]


def _main() -> Container:
    values = {
        "PASS_DEVICE_SPECS": "true",
        "FAIL_ON_INIT_ERROR": "true",
        "DEVICE_LIST_STRATEGY": "envvar",
        "DEVICE_ID_STRATEGY": "uuid",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "all",
        "MPS_ROOT": "/run/nvidia/mps",
    }
    return {
        "name": _MAIN,
        "command": ["/bin/sh", "-c"],
        "args": [f"/bin/{_KEY}"],
        "env": [{"name": name, "value": value} for name, value in values.items()],
        "securityContext": PRIVILEGED,
        "volumeMounts": [
            mount(_ENTRYPOINT, f"/bin/{_KEY}", read_only=True, key=_KEY),
            mount("device-plugin", "/var/lib/kubelet/device-plugins"),
            mount(_FILES, "/run/nvidia/validations"),
            mount("driver-install-dir", "/driver-root", FROM_HOST),
            mount("host-root", "/host", FROM_HOST, read_only=True),
            mount("cdi-root", "/var/run/cdi"),
            mount("mps-shm", "/dev/shm"),
            mount("mps-root", "/mps"),
        ],
    }


def _add_features(app: PolicyApp, main: Container) -> None:
    """Set variables for features that other parts of the spec enable."""
    spec = app.spec
    if spec.driver.gds.is_enabled:
        set_env(main, "GDS_ENABLED", "true")
        set_env(main, "MOFED_ENABLED", "true")
    if spec.driver.gdrcopy.is_enabled:
        set_env(main, "GDRCOPY_ENABLED", "true")
    add_mig_env(app, main)
    if spec.has_cdi:
        set_env(main, "CDI_ENABLED", "true")
        set_env(main, "DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri")
        set_env(main, "CDI_ANNOTATION_PREFIX", "cdi.k8s.io/")
        if spec.cdi_hook:
            set_env(main, "NVIDIA_CDI_HOOK_PATH", spec.cdi_hook)


OPERAND = Operand(
    "state-device-plugin",
    objects=(
        *role_names(ACCOUNT, has_cluster_role=True),
        ("ConfigMap", _ENTRYPOINT),
        ("DaemonSet", _NAME),
    ),
    children=_children,
    is_enabled=lambda spec: spec.device_plugin.is_enabled,
)
