# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The driver: one DaemonSet, or one for each kernel if its modules are built in advance."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._components.gpu_stack import scripts
from ..._components.gpu_stack.component import Component
from ..._components.gpu_stack.driver import (
    COMPONENT,
    COMPONENT_LABEL,
    DEFAULT_CONTAINER,
    MAIN,
    MANAGER,
    PRECOMPILED_LABEL,
    PROBE_CONFIG_MAP,
    PROBE_KEY,
    Images,
    Scripts,
    build_driver_pod,
)
from ..._components.gpu_stack.driver_files import Node, build_files
from ..._components.gpu_stack.images import precompiled_image, with_os
from ..._components.gpu_stack.kept import put_digest
from ..._components.gpu_stack.nodes import KERNEL, OperatingSystem, short_kernel
from ..._components.gpu_stack.permissions import permissions, role_names, rule
from ..._engine.desired import Manifest
from ..._engine.observed import read_labelled
from ..app import PolicyApp
from ..daemonset import TEXTS, Workload, build_daemon_set
from ..state import State, keep_without_gpu

NAME, _ACCOUNT = "nvidia-driver-daemonset", "nvidia-driver"
DAEMON_SETS = read_labelled("DaemonSet", f"{COMPONENT_LABEL}={COMPONENT}")

_CLUSTER_RULES = [
    rule("clusterversions", "get list", "config.openshift.io"),
    rule("nodes", "get list patch update watch"),
    rule("pods", "get list watch"),
    rule("pods/eviction", "create"),
    rule("resourceclaims", "get list", "resource.k8s.io"),
    rule("daemonsets", "get", "apps"),
]
_SCRIPTS = Scripts(
    pre_stop=scripts.DRIVER_PRE_STOP,
    gds_install=scripts.GDS_INSTALL,
    gds_probe=scripts.GDS_PROBE,
    gdrcopy_install=scripts.GDRCOPY_INSTALL,
    gdrcopy_probe=scripts.GDRCOPY_PROBE,
)
_NOT_PRECOMPILED = {
    "gds": "GPUDirect Storage driver (nvidia-fs)",
    "gdrcopy": "GDRCopy",
}


@dataclass(frozen=True)
class _Pool:
    """The nodes of a DaemonSet; ``kernel``: the one that all have, for precompiled drivers."""

    name: str
    system: OperatingSystem
    kernel: str = ""


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _ACCOUNT, (), _CLUSTER_RULES)
    yield app.child(
        "ConfigMap",
        name=PROBE_CONFIG_MAP,
        labels={"app": NAME, COMPONENT_LABEL: COMPONENT},
        data={PROBE_KEY: scripts.STARTUP_PROBE},
    )
    for pool in _pools(app):
        yield _daemon_set(app, pool)


def _pools(app: PolicyApp) -> list[_Pool]:
    """The pools of nodes; NimError if their labels do not tell them."""
    nodes = app.nodes
    if not nodes.with_gpu:
        return []
    if not app.spec.driver.is_precompiled:
        return [_Pool(NAME, nodes.operating_system)]
    pools = []
    for kernel, system in sorted(nodes.kernels.items()):
        _refuse_side_containers(app, kernel)
        name = f"{NAME}-{short_kernel(kernel)}-{system.id}{system.version}"
        pools.append(_Pool(name, system, kernel))
    return pools


def _refuse_side_containers(app: PolicyApp, kernel: str) -> None:
    """NimError for what is built for the running kernel beside a driver that is not."""
    for field, what in _NOT_PRECOMPILED.items():
        if getattr(app.spec.driver, field).is_enabled:
            raise NimError(
                "unable to deploy precompiled driver daemonsets [failed to handle Precompiled"
                f" Driver Daemonset for version {kernel}: {what} is not supported along with"
                " pre-compiled NVIDIA drivers]"
            )


def _daemon_set(app: PolicyApp, pool: _Pool) -> Manifest:
    driver = app.spec.driver
    kernel = {KERNEL: pool.kernel} if pool.kernel else {}
    node = Node(pool.system.id, pool.system.tag, app.nodes.runtime, driver.is_precompiled)
    files = build_files(
        app.spec.driver_sources, node, lambda field, name: _keys_of(app, field, name)
    )
    _refuse_missing_secret(app)
    pod = build_driver_pod(driver, _images(app, pool), _SCRIPTS, files)
    put_digest(pod, app.live("DaemonSet", pool.name), (MANAGER, MAIN), TEXTS)
    workload = Workload(
        pool.name,
        "driver",
        _ACCOUNT,
        labels={COMPONENT_LABEL: COMPONENT, PRECOMPILED_LABEL: str(bool(kernel)).lower()},
        annotations=DEFAULT_CONTAINER,
        nodes=kernel,
        constraint=_ACCOUNT,
        is_on_delete=True,
    )
    return build_daemon_set(app, workload, pod)


def _images(app: PolicyApp, pool: _Pool) -> Images:
    driver, tag = app.spec.driver, pool.system.tag

    def image(component: Component, variable: str) -> str:
        return with_os(app.image(component, variable), tag) if component.is_enabled else ""

    if pool.kernel:
        main = precompiled_image(driver.component, pool.kernel, tag)
    else:
        main = image(driver.component, "DRIVER_IMAGE")
    return Images(
        driver=main,
        manager=app.image(driver.manager, "DRIVER_MANAGER_IMAGE"),
        gds=image(driver.gds, "GDS_IMAGE"),
        gdrcopy=image(driver.gdrcopy, "GDRCOPY_IMAGE"),
    )


def _keys_of(app: PolicyApp, field: str, name: str) -> list[str]:
    """The keys of a ConfigMap; NimError if there is none of that name."""
    live = app.live("ConfigMap", name)
    if live is None:
        raise NimError(_missing(field, "ConfigMap", name))
    return sorted(live.get("data") or {})


def _refuse_missing_secret(app: PolicyApp) -> None:
    driver = app.spec.driver
    name = driver.secret_env
    if name and not driver.is_precompiled and app.live("Secret", name) is None:
        raise NimError(_missing("driver.secretEnv", "Secret", name))


def _missing(field: str, kind: str, name: str) -> str:
    return f'{field}: could not get {kind} {name} from client: {kind} "{name}" not found'


def _of_this_policy(app: PolicyApp) -> list[tuple[str, str]]:
    """The DaemonSets that it wants, and those of other kernels, or of the other mode."""
    found = app.observed.get(DAEMON_SETS.key) or []
    names = [
        str(item["metadata"]["name"])
        for item in found
        if item["metadata"].get("namespace") == app.namespace and app.controls(item)
    ]
    with contextlib.suppress(NimError):
        names += [pool.name for pool in _pools(app)]
    return [("DaemonSet", name) for name in names]


def _keeps(app: PolicyApp, kind: str, name: str) -> bool:
    """Whether a DaemonSet stays: one for a kernel that no node has any more, while it has pods."""
    if keep_without_gpu(app, kind, name):
        return True
    if kind != "DaemonSet" or not app.spec.driver.is_precompiled or name == NAME:
        return False
    status = (app.live(kind, name) or {}).get("status") or {}
    return bool(status.get("desiredNumberScheduled") or status.get("numberMisscheduled"))


STATE = State(
    "state-driver",
    objects=(
        *role_names(_ACCOUNT, has_cluster_role=True),
        ("ConfigMap", PROBE_CONFIG_MAP),
        ("DaemonSet", NAME),
    ),
    children=_children,
    is_enabled=lambda spec: spec.driver.component.is_enabled,
    extra=_of_this_policy,
    keeps=_keeps,
)
