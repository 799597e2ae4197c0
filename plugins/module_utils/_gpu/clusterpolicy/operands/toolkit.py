# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Container toolkit: configures the container runtime to pass GPUs to containers."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass, replace

from ...._base.types import Manifest
from ...pods import (
    BOTH_WAYS,
    CREATE,
    FROM_HOST,
    PRIVILEGED,
    SE_LINUX,
    Container,
    Item,
    apply_operand,
    complete_pod,
    config_map,
    env_value,
    host_path,
    mount,
    namespace_env,
    set_env,
    set_env_vars,
)
from ...rbac import permissions, role_names, rule
from ...scripts import TOOLKIT_ENTRYPOINT
from ..app import PolicyApp
from ..daemonset import (
    DRIVER_VALIDATION,
    Workload,
    build_daemon_set,
    place_on_host,
    validate,
)
from ..operand import Operand
from ..runtimes import TOOLKIT_CONTAINER, TOOLKIT_NAME
from ..spec import DEFAULT_TOOLKIT_DIR

_ACCOUNT = "nvidia-container-toolkit"
_ENTRYPOINT, _KEY = "nvidia-container-toolkit-entrypoint", "entrypoint.sh"
_HOOKS = "/usr/share/containers/oci/hooks.d"


@dataclass(frozen=True)
class _Runtime:
    """Default paths of a container runtime; empty if it does not use one."""

    config: str
    drop_in: str = ""
    socket: str = ""


_RUNTIMES = {
    "containerd": _Runtime(
        "/etc/containerd/config.toml",
        "/etc/containerd/conf.d/99-nvidia.toml",
        "/run/containerd/containerd.sock",
    ),
    "docker": _Runtime("/etc/docker/daemon.json", socket="/var/run/docker.sock"),
    "crio": _Runtime("/etc/crio/config.toml", "/etc/crio/crio.conf.d/99-nvidia.conf"),
}


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _ACCOUNT, [rule("daemonsets", "list", "apps")])
    yield app.child(
        "ConfigMap", name=_ENTRYPOINT, labels={"app": TOOLKIT_NAME}, data={_KEY: TOOLKIT_ENTRYPOINT}
    )
    if app.nodes.with_gpu:
        workload = Workload(
            TOOLKIT_NAME, "container-toolkit", _ACCOUNT, constraint="hostmount-anyuid"
        )
        yield build_daemon_set(app, workload, _pod(app))


def _pod(app: PolicyApp) -> Item:
    spec, toolkit = app.spec, app.spec.toolkit
    main = _main(app)
    pod: Item = {
        "hostPID": True,
        "initContainers": [_validation(app)],
        "containers": [main],
        "volumes": _volumes(app),
    }
    place_on_host(app, pod)
    apply_operand(main, replace(toolkit, args=()), app.image(toolkit, "CONTAINER_TOOLKIT_IMAGE"))
    _set_modes(app, main)
    set_env_vars(main, toolkit.env)
    _use_runtime(app, pod, main)
    return complete_pod(pod, toolkit, before=[spec.validator])


def _validation(app: PolicyApp) -> Container:
    container = validate(
        app,
        DRIVER_VALIDATION,
        [
            {"name": "WITH_WAIT", "value": "true"},
            {"name": "COMPONENT", "value": "driver"},
            namespace_env("OPERATOR_NAMESPACE"),
        ],
        [
            mount("driver-install-dir", app.spec.driver_dir, FROM_HOST),
            mount("run-nvidia-validations", "/run/nvidia/validations", BOTH_WAYS),
            mount("host-root", "/host", FROM_HOST, read_only=True),
            mount("host-dev-char", "/host-dev-char"),
        ],
    )
    return container | {"securityContext": {**container["securityContext"], **SE_LINUX}}


def _main(app: PolicyApp) -> Container:
    return {
        "name": TOOLKIT_CONTAINER,
        "command": ["/bin/sh", "-c"],
        "args": [f"/bin/{_KEY}"],
        "env": [
            {"name": "ROOT", "value": DEFAULT_TOOLKIT_DIR},
            {
                "name": "NVIDIA_CONTAINER_RUNTIME_MODES_CDI_DEFAULT_KIND",
                "value": "management.nvidia.com/gpu",
            },
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
            {"name": "TOOLKIT_PID_FILE", "value": "/run/nvidia/toolkit/toolkit.pid"},
            namespace_env("NRI_NAMESPACE"),
        ],
        "securityContext": {**PRIVILEGED, **SE_LINUX},
        "volumeMounts": [
            mount(_ENTRYPOINT, f"/bin/{_KEY}", read_only=True, key=_KEY),
            mount("toolkit-root", "/run/nvidia/toolkit"),
            mount("run-nvidia-validations", "/run/nvidia/validations"),
            mount("toolkit-install-dir", app.spec.toolkit_dir),
            mount("crio-hooks", _HOOKS),
            mount("driver-install-dir", "/driver-root", FROM_HOST),
            mount("host-root", "/host", FROM_HOST, read_only=True),
            mount("cdi-root", "/var/run/cdi"),
        ],
    }


def _volumes(app: PolicyApp) -> list[Item]:
    hooks = _HOOKS if app.toolkit.runtime == "crio" else "/run/containers/oci/hooks.d"
    return [
        config_map(_ENTRYPOINT, _ENTRYPOINT, mode=0o700),
        host_path("toolkit-root", "/run/nvidia/toolkit", CREATE),
        host_path("run-nvidia-validations", "/run/nvidia/validations", CREATE),
        host_path("driver-install-dir", app.spec.driver_dir, CREATE),
        host_path("host-root", "/"),
        host_path("toolkit-install-dir", app.spec.toolkit_dir),
        host_path("crio-hooks", hooks),
        host_path("host-dev-char", "/dev/char"),
        host_path("cdi-root", "/var/run/cdi", CREATE),
    ]


def _set_modes(app: PolicyApp, main: Container) -> None:
    """Set the variables that select the mode of the container runtime."""
    runtime = app.toolkit.runtime
    if app.spec.toolkit_dir != DEFAULT_TOOLKIT_DIR:
        set_env(main, "ROOT", app.spec.toolkit_dir)
    if app.spec.has_cdi:
        set_env(main, "CDI_ENABLED", "true")
        set_env(main, "NVIDIA_RUNTIME_SET_AS_DEFAULT", "false")
        set_env(main, "NVIDIA_CONTAINER_RUNTIME_MODE", "cdi")
        set_env(main, "CRIO_CONFIG_MODE", "config")
        if app.spec.has_nri:
            set_env(main, "ENABLE_NRI_PLUGIN", "true")
    elif runtime == "crio":
        set_env(main, "CRIO_CONFIG_MODE", "hook")


def _use_runtime(app: PolicyApp, pod: Item, main: Container) -> None:
    """Mount the paths of the container runtime; paths from the user take precedence."""
    runtime = app.toolkit.runtime
    name, known = runtime.upper(), _RUNTIMES[runtime]
    set_env(main, "RUNTIME", runtime)
    if runtime == "containerd" and not app.spec.has_nri:
        set_env(main, "CONTAINERD_RUNTIME_CLASS", app.spec.runtime_class)
    if source := env_value(main, "RUNTIME_CONFIG_SOURCE"):
        set_env(main, "RUNTIME_CONFIG_SOURCE", _on_host(source))
    if app.spec.has_nri:
        path = _given(app, "NRI_SOCKET") or "/var/run/nri/nri.sock"
        set_env(main, "NRI_SOCKET", f"/runtime/nri-sock-dir/{posixpath.basename(path)}")
        _add(pod, main, "nri-socket", posixpath.dirname(path), "/runtime/nri-sock-dir/", CREATE)
        return
    path = _given(app, f"{name}_CONFIG", "RUNTIME_CONFIG") or known.config
    inside = f"/runtime/config-dir/{posixpath.basename(path)}"
    set_env(main, "RUNTIME_CONFIG", inside)
    set_env(main, f"{name}_CONFIG", inside)
    folder = posixpath.dirname(path)
    _add(pod, main, f"{runtime}-config", folder, "/runtime/config-dir/", CREATE)
    if path := known.drop_in and (_given(app, "RUNTIME_DROP_IN_CONFIG") or known.drop_in):
        inside = f"/runtime/config-dir.d/{posixpath.basename(path)}"
        set_env(main, "RUNTIME_DROP_IN_CONFIG", inside)
        set_env(main, "RUNTIME_DROP_IN_CONFIG_HOST_PATH", path)
        folder = posixpath.dirname(path)
        _add(pod, main, f"{runtime}-drop-in-config", folder, "/runtime/config-dir.d/", CREATE)
    if path := known.socket and (_given(app, f"{name}_SOCKET") or known.socket):
        inside = f"/runtime/sock-dir/{posixpath.basename(path)}"
        set_env(main, "RUNTIME_SOCKET", inside)
        set_env(main, f"{name}_SOCKET", inside)
        _add(pod, main, f"{runtime}-socket", posixpath.dirname(path), "/runtime/sock-dir/")


def _given(app: PolicyApp, *names: str) -> str:
    """Return the user's value of the first of these variables that has one."""
    return next((found for name in names if (found := app.spec.toolkit.value_of(name))), "")


def _on_host(source: str) -> str:
    """Prefix file sources with the mount path of the host."""
    return ",".join(
        f"file=/host{item.removeprefix('file=')}" if item.startswith("file=") else item
        for item in source.split(",")
    )


def _add(pod: Item, main: Container, name: str, folder: str, inside: str, kind: str = "") -> None:
    pod["volumes"].append(host_path(name, folder, kind))
    main["volumeMounts"].append(mount(name, inside))


OPERAND = Operand(
    "state-container-toolkit",
    objects=(*role_names(_ACCOUNT), ("ConfigMap", _ENTRYPOINT), ("DaemonSet", TOOLKIT_NAME)),
    children=_children,
    is_enabled=lambda spec: spec.toolkit.is_enabled,
)
