# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""MIG manager: partitions the GPUs of a node according to its label."""

from __future__ import annotations

import typing as t

from ...._base.printable import printable
from ...._base.types import Manifest
from ...._engine.label_selector import is_label_value
from ...fields import SpecError
from ...nodes import MIG_CONFIG
from ...pods import (
    CREATE,
    DIRECTORY,
    FROM_HOST,
    NODE_NAME,
    POD_NAME,
    PRIVILEGED,
    Container,
    Item,
    apply_operand,
    complete_pod,
    config_map,
    host_path,
    mount,
    namespace_env,
    set_env,
    set_env_vars,
)
from ...rbac import permissions, role_names, rule
from ...scripts import MIG_MANAGER_ENTRYPOINT
from ..app import PolicyApp
from ..daemonset import Workload, build_daemon_set, place_on_host, wait_for_toolkit
from ..operand import Operand
from ..spec import DEFAULT_GPU_CLIENTS, DEFAULT_MIG_CONFIG, Mig

_NAME = "nvidia-mig-manager"
_MAX_SHOWN = 80
_ENTRYPOINT, _KEY = "nvidia-mig-manager-entrypoint", "entrypoint.sh"
_FILES = "run-nvidia-validations"
_RULES = [
    rule("pods", "get list watch delete"),
    rule("configmaps", "create get list update patch"),
]
_CLUSTER_RULES = [rule("nodes", "get list watch update patch"), rule("pods", "list")]

_MIG_CONFIG = """\
version: v1
mig-configs:
  all-disabled:
    - devices: all
      mig-enabled: false
  all-enabled:
    - devices: all
      mig-enabled: true
      mig-devices: {}
"""
_CLIENTS = (
    *("nvsm", "nvsm-mqtt", "nvsm-core", "nvsm-api-gateway", "nvsm-notifier"),
    *("nv_peer_mem", "nvidia-dcgm", "dcgm", "dcgm-exporter"),
)
_GPU_CLIENTS = "version: v1\nsystemd-services:\n" + "".join(
    f"  - {name}.service\n" for name in _CLIENTS
)


def _check_default(mig: Mig) -> None:
    """Raise NimError if the default configuration is not a valid label value."""
    if not is_label_value(mig.default):
        raise SpecError(
            f'migManager.config.default: "{printable(mig.default, _MAX_SHOWN)}" cannot'
            f" be the label {MIG_CONFIG} of a node: a value has at most 63 letters, digits, -, _"
            " and ., and begins and ends with a letter or a digit"
        )


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    _check_default(app.spec.mig)
    yield from permissions(app, _NAME, _RULES, _CLUSTER_RULES)
    yield from _config_maps(app)
    if app.nodes.with_gpu:
        workload = Workload(_NAME, "mig-manager", _NAME, gpu_container=_NAME)
        yield build_daemon_set(app, workload, _pod(app))


def _config_maps(app: PolicyApp) -> t.Iterator[Manifest]:
    """Build the ConfigMaps, including existing defaults that the spec overrides."""
    for name, used, data in (
        (DEFAULT_MIG_CONFIG, app.spec.mig.config, {"config.yaml": _MIG_CONFIG}),
        (DEFAULT_GPU_CLIENTS, app.spec.mig.clients, {"clients.yaml": _GPU_CLIENTS}),
    ):
        if used == name or app.live("ConfigMap", name):
            yield app.child("ConfigMap", name=name, data=data)
    yield app.child(
        "ConfigMap", name=_ENTRYPOINT, labels={"app": _NAME}, data={_KEY: MIG_MANAGER_ENTRYPOINT}
    )


def _pod(app: PolicyApp) -> Item:
    spec, manager = app.spec, app.spec.mig_manager
    main = _main()
    pod: Item = {
        "hostPID": True,
        "hostIPC": True,
        "initContainers": [wait_for_toolkit(app, _FILES, "/run/nvidia/validations")],
        "containers": [main],
        "volumes": [
            config_map(_ENTRYPOINT, _ENTRYPOINT, mode=0o700),
            host_path("host-sys", "/sys", DIRECTORY),
            host_path(_FILES, "/run/nvidia/validations", CREATE),
            host_path("driver-install-dir", spec.driver_dir, CREATE),
            host_path("host-root", "/"),
            config_map("gpu-clients", spec.mig.clients),
            _mig_volume(spec.mig),
            host_path("cdi-root", "/var/run/cdi", CREATE),
        ],
    }
    place_on_host(app, pod)
    apply_operand(main, manager, app.image(manager, "MIG_MANAGER_IMAGE"))
    if spec.mig.has_own_config:
        set_env(main, "CONFIG_FILE", "/mig-parted-config/config.yaml")
    else:
        set_env(main, "DEFAULT_CONFIG_FILE", "/mig-parted-config/config-default.yaml")
    if spec.has_cdi:
        set_env(main, "CDI_ENABLED", "true")
        if spec.cdi_hook:
            set_env(main, "NVIDIA_CDI_HOOK_PATH", spec.cdi_hook)
    set_env_vars(main, manager.env)
    return complete_pod(pod, manager, before=[spec.validator])


def _mig_volume(mig: Mig) -> Item:
    volume = config_map("mig-parted-config", mig.config)
    if not mig.has_own_config:
        volume["configMap"]["items"] = [{"key": "config.yaml", "path": "config-default.yaml"}]
    return volume


def _main() -> Container:
    return {
        "name": _NAME,
        "command": ["/bin/sh", "-c"],
        "args": [f"/bin/{_KEY}"],
        "env": [
            NODE_NAME,
            POD_NAME,
            namespace_env("POD_NAMESPACE"),
            {"name": "GPU_CLIENTS_FILE", "value": "/gpu-clients/clients.yaml"},
            namespace_env("DEFAULT_GPU_CLIENTS_NAMESPACE"),
        ],
        "securityContext": PRIVILEGED,
        "volumeMounts": [
            mount(_ENTRYPOINT, f"/bin/{_KEY}", read_only=True, key=_KEY),
            mount(_FILES, "/run/nvidia/validations"),
            mount("host-sys", "/sys"),
            mount("host-root", "/host", FROM_HOST),
            mount("gpu-clients", "/gpu-clients"),
            mount("mig-parted-config", "/mig-parted-config"),
            mount("driver-install-dir", "/driver-root", FROM_HOST),
            mount("cdi-root", "/var/run/cdi"),
        ],
    }


OPERAND = Operand(
    "state-mig-manager",
    objects=(
        *role_names(_NAME, has_cluster_role=True),
        ("ConfigMap", DEFAULT_MIG_CONFIG),
        ("ConfigMap", DEFAULT_GPU_CLIENTS),
        ("ConfigMap", _ENTRYPOINT),
        ("DaemonSet", _NAME),
    ),
    children=_children,
    is_enabled=lambda spec: spec.mig_manager.is_enabled,
)
