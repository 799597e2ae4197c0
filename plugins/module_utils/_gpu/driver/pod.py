# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the pods that install the driver."""

from __future__ import annotations

import copy
import typing as t
from dataclasses import dataclass

from ..._builders.env import field_env
from ..._engine.reads import ReadLabelled
from .. import scripts
from ..operand_spec import OperandSpec
from ..pods import (
    BOTH_WAYS,
    CREATE,
    DIRECTORY,
    FROM_HOST,
    NODE_NAME,
    PRIVILEGED,
    SE_LINUX,
    Container,
    Item,
    add_user_volumes,
    apply_operand,
    config_map,
    host_path,
    mount,
    namespace_env,
    pull_secrets,
    set_env,
    set_env_vars,
    set_path,
    use_host_network,
)
from .files import Files
from .spec import Driver

COMPONENT_LABEL, COMPONENT = "app.kubernetes.io/component", "nvidia-driver"
DAEMON_SETS = ReadLabelled("DaemonSet", f"{COMPONENT_LABEL}={COMPONENT}")
PRECOMPILED_LABEL = "nvidia.com/precompiled"
PROBE_CONFIG_MAP, PROBE_KEY = "nvidia-driver-startup-probe", "startup-probe.sh"
MANAGER, MAIN = "k8s-driver-manager", "nvidia-driver-ctr"
DEFAULT_CONTAINER = {"kubectl.kubernetes.io/default-container": MAIN}

_OFED_SOURCES, _HOST_OFED_SOURCES = "/run/mellanox/drivers/usr/src", "/usr/src"
_PEERMEM_PROBE = "nvidia-driver probe_nvidia_peermem"
_SECURITY = {**PRIVILEGED, **SE_LINUX}


@dataclass(frozen=True)
class Images:
    """Images of the containers; empty for disabled side containers."""

    driver: str
    manager: str
    gds: str = ""
    gdrcopy: str = ""


def build_driver_pod(driver: Driver, images: Images, files: Files) -> Item:
    """Build the pod spec, without the fields that all pods of a kind share."""
    secrets = (driver.manager, driver.gds, driver.gdrcopy, driver.operand)
    main = _main(driver, images, files)
    pod: Item = {
        "hostPID": True,
        "affinity": {"podAntiAffinity": copy.deepcopy(_ONE_PER_NODE)},
        "initContainers": [_manager(driver, images)],
        "containers": [main, *_side_containers(driver, images, files)],
        "volumes": [*_volumes(), *files.volumes],
    }
    if named := pull_secrets(*secrets):
        pod["imagePullSecrets"] = named
    if driver.has_rdma and driver.uses_host_mofed:
        set_path(pod, "mlnx-ofed-usr-src", _HOST_OFED_SOURCES)
    if driver.root:
        set_path(pod, "host-root", driver.root)
    if driver.operand.host_network:
        use_host_network(pod)
    add_user_volumes(pod, driver.operand)
    return pod


_ONE_PER_NODE = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {
            "labelSelector": {
                "matchExpressions": [
                    {"key": COMPONENT_LABEL, "operator": "In", "values": [COMPONENT]}
                ]
            },
            "topologyKey": "kubernetes.io/hostname",
        }
    ]
}


def _manager(driver: Driver, images: Images) -> Container:
    """Build the init container that evicts GPU clients and unloads the old driver."""
    container: Container = {
        "name": MANAGER,
        "image": images.manager,
        "imagePullPolicy": driver.manager.pull_policy,
        "command": ["driver-manager"],
        "args": ["uninstall_driver"],
        "env": [
            NODE_NAME,
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
            {"name": "ENABLE_GPU_POD_EVICTION", "value": "true"},
            {"name": "ENABLE_AUTO_DRAIN", "value": "false"},
            {"name": "DRAIN_USE_FORCE", "value": "false"},
            {"name": "DRAIN_POD_SELECTOR_LABEL"},
            {"name": "DRAIN_TIMEOUT_SECONDS", "value": "0s"},
            {"name": "DRAIN_DELETE_EMPTYDIR_DATA", "value": "false"},
            namespace_env("OPERATOR_NAMESPACE"),
        ],
        "securityContext": PRIVILEGED,
        "volumeMounts": [
            mount("run-nvidia", "/run/nvidia", BOTH_WAYS),
            mount("host-root", "/host", FROM_HOST, read_only=True),
            mount("host-sys", "/sys"),
            mount("run-mellanox-drivers", "/run/mellanox/drivers", FROM_HOST),
        ],
    }
    _add_root(container, driver)
    _add_rdma(container, driver)
    set_env_vars(container, driver.manager.env)
    return _with_resources(container, driver)


def _main(driver: Driver, images: Images, files: Files) -> Container:
    container: Container = {
        "name": MAIN,
        "command": ["nvidia-driver"],
        "args": ["init"],
        "env": [NODE_NAME, field_env("NODE_IP", "status.hostIP")],
        "securityContext": _SECURITY,
        "startupProbe": {
            "exec": {"command": ["sh", f"/usr/local/bin/{PROBE_KEY}"]},
            **_times(60, 60, 10),
            **{key: value for key, value in driver.probe.items() if value},
        },
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sh", "-c", scripts.DRIVER_PRE_STOP]}}},
        "volumeMounts": [
            mount("run-nvidia", "/run/nvidia", BOTH_WAYS),
            mount("run-nvidia-fabricmanager", "/run/nvidia-fabricmanager"),
            mount("run-nvidia-topologyd", "/run/nvidia-topologyd"),
            mount("var-log", "/var/log"),
            mount("dev-log", "/dev/log"),
            mount("host-os-release", "/host-etc/os-release", read_only=True),
            mount("mlnx-ofed-usr-src", _OFED_SOURCES, FROM_HOST),
            mount("run-mellanox-drivers", "/run/mellanox/drivers", FROM_HOST),
            mount("host-sys-devices-system", "/sys/devices/system"),
            mount("firmware-search-path", "/sys/module/firmware_class/parameters/path"),
            mount("nv-firmware", "/lib/firmware"),
            mount("driver-startup-probe-script", f"/usr/local/bin/{PROBE_KEY}", key=PROBE_KEY),
            *files.driver_mounts,
        ],
    }
    _add_root(container, driver)
    set_env(container, "KERNEL_MODULE_TYPE", driver.module_type)
    if driver.module_type == "open":
        set_env(container, "OPEN_KERNEL_MODULES_ENABLED", "true")
    for name, side in (("GDRCOPY_ENABLED", driver.gdrcopy), ("GDS_ENABLED", driver.gds)):
        if side.is_enabled:
            set_env(container, name, "true")
    _add_rdma(container, driver)
    set_env_vars(container, driver.operand.env)
    _add_secret(container, driver)
    return apply_operand(container, driver.operand, images.driver)


def _side_containers(driver: Driver, images: Images, files: Files) -> t.Iterator[Container]:
    """Build the enabled side containers."""
    if driver.has_rdma:
        yield _peermem(driver, images, files)
    for name, side, image, install, probe in (
        ("nvidia-fs-ctr", driver.gds, images.gds, scripts.GDS_INSTALL, scripts.GDS_PROBE),
        (
            "nvidia-gdrcopy-ctr",
            driver.gdrcopy,
            images.gdrcopy,
            scripts.GDRCOPY_INSTALL,
            scripts.GDRCOPY_PROBE,
        ),
    ):
        if side.is_enabled:
            yield _module(driver, name, side, image, install, probe, files)


def _peermem(driver: Driver, images: Images, files: Files) -> Container:
    """Build the container that loads nvidia-peermem, for access of network cards to GPU memory."""
    check = {"exec": {"command": ["sh", "-c", _PEERMEM_PROBE]}}
    container: Container = {
        "name": "nvidia-peermem-ctr",
        "image": images.driver,
        "imagePullPolicy": driver.operand.pull_policy,
        "command": ["nvidia-driver"],
        "args": ["reload_nvidia_peermem"],
        "env": [],
        "securityContext": _SECURITY,
        "startupProbe": {**check, **_times(10, 10, 10)},
        "livenessProbe": {**check, **_times(30, 10, 30, failures=1)},
        "volumeMounts": [
            mount("run-nvidia", "/run/nvidia", BOTH_WAYS),
            mount("var-log", "/var/log"),
            mount("dev-log", "/dev/log", read_only=True),
            mount("run-mellanox-drivers", "/run/mellanox/drivers", FROM_HOST),
            *files.module_mounts,
        ],
    }
    _add_root(container, driver)
    if driver.uses_host_mofed:
        set_env(container, "USE_HOST_MOFED", "true")
    return _with_resources(container, driver)


def _module(
    driver: Driver,
    name: str,
    side: OperandSpec,
    image: str,
    install: str,
    probe: str,
    files: Files,
) -> Container:
    """Build a container that compiles and loads an additional module."""
    container: Container = {
        "name": name,
        "image": image,
        "imagePullPolicy": side.pull_policy,
        "command": ["bash", "-xc"],
        "args": [install],
        "env": [],
        "securityContext": _SECURITY,
        "startupProbe": {"exec": {"command": ["sh", "-c", probe]}, **_times(10, 10, 10)},
        "volumeMounts": [
            mount("run-nvidia", "/run/nvidia", FROM_HOST),
            mount("var-log", "/var/log"),
            mount("dev-log", "/dev/log", read_only=True),
            *files.package_mounts,
        ],
    }
    _add_root(container, driver)
    set_env_vars(container, side.env)
    _add_secret(container, driver)
    return _with_resources(container, driver)


def _volumes() -> list[Item]:
    return [
        host_path("run-nvidia", "/run/nvidia", CREATE),
        host_path("var-log", "/var/log"),
        host_path("dev-log", "/dev/log"),
        host_path("host-os-release", "/etc/os-release"),
        host_path("run-nvidia-fabricmanager", "/run/nvidia-fabricmanager", CREATE),
        host_path("run-nvidia-topologyd", "/run/nvidia-topologyd", CREATE),
        host_path("mlnx-ofed-usr-src", _OFED_SOURCES, CREATE),
        host_path("run-mellanox-drivers", "/run/mellanox/drivers", CREATE),
        host_path("run-nvidia-validations", "/run/nvidia/validations", CREATE),
        host_path("host-root", "/"),
        host_path("host-sys", "/sys", DIRECTORY),
        host_path("firmware-search-path", "/sys/module/firmware_class/parameters/path"),
        host_path("host-sys-devices-system", "/sys/devices/system", DIRECTORY),
        host_path("nv-firmware", "/run/nvidia/driver/lib/firmware", CREATE),
        config_map("driver-startup-probe-script", PROBE_CONFIG_MAP, mode=0o755),
    ]


def _add_root(container: Container, driver: Driver) -> None:
    if driver.root:
        set_env(container, "HOST_ROOT", driver.root)


def _add_rdma(container: Container, driver: Driver) -> None:
    if driver.has_rdma:
        set_env(container, "GPU_DIRECT_RDMA_ENABLED", "true")
        if driver.uses_host_mofed:
            set_env(container, "USE_HOST_MOFED", "true")


def _add_secret(container: Container, driver: Driver) -> None:
    if driver.secret_env and not driver.is_precompiled:
        container["envFrom"] = [{"secretRef": {"name": driver.secret_env}}]


def _with_resources(container: Container, driver: Driver) -> Container:
    if driver.operand.resources:
        container["resources"] = dict(driver.operand.resources)
    return container


def _times(delay: int, timeout: int, period: int, *, failures: int = 120) -> dict[str, int]:
    return {
        "initialDelaySeconds": delay,
        "timeoutSeconds": timeout,
        "periodSeconds": period,
        "successThreshold": 1,
        "failureThreshold": failures,
    }
