# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Driver: one DaemonSet, or one per kernel if the driver is precompiled."""

from __future__ import annotations

import contextlib
import typing as t

from ...._base.errors import NimError
from ...._base.types import Manifest
from ...._engine.desired import Child
from ...._engine.metadata import controller_of
from ...._engine.observed import Observed
from ... import scripts
from ...driver.license import license_marks
from ...driver.pod import (
    COMPONENT,
    COMPONENT_LABEL,
    DEFAULT_CONTAINER,
    PRECOMPILED_LABEL,
    PROBE_CONFIG_MAP,
    PROBE_KEY,
)
from ...driver.pool import (
    CLUSTER_RULES,
    Pool,
    pool_images,
    pool_pod,
    why_not_precompiled,
)
from ...driver.spec import Driver
from ...fields import SpecError
from ...images import precompiled_image, resolve_image, with_os
from ...nodes import KERNEL, Nodes, short_kernel
from ...rbac import permissions, role_names
from ..app import PolicyApp
from ..daemonset import Workload, build_daemon_set
from ..operand import Operand, keep_without_gpu

NAME, _ACCOUNT = "nvidia-driver-daemonset", "nvidia-driver"


def _children(app: PolicyApp) -> t.Iterator[Manifest]:
    yield from permissions(app, _ACCOUNT, (), CLUSTER_RULES)
    yield _probe(app)
    driver = app.spec.driver
    for pool in _pools(driver, app.nodes):
        yield _daemon_set(app, driver, pool)


def _probe(app: PolicyApp) -> Manifest:
    return app.child(
        "ConfigMap",
        name=PROBE_CONFIG_MAP,
        labels={"app": NAME, COMPONENT_LABEL: COMPONENT},
        data={PROBE_KEY: scripts.STARTUP_PROBE},
    )


def shared_child(app: PolicyApp) -> Child:
    """Build the probe ConfigMap, which the pods of all NVIDIADrivers share.

    NVIDIADrivers of the reference operator create it themselves; then it is left unchanged.
    """
    owner = controller_of(app.live("ConfigMap", PROBE_CONFIG_MAP) or {"metadata": {}})
    return Child(_probe(app), create_only=owner is not None and owner.get("kind") == "NVIDIADriver")


def orphans(app: PolicyApp) -> list[tuple[str, str]]:
    """The DaemonSets to orphan: their pods keep running until an NVIDIADriver replaces them."""
    return [item for item in dict.fromkeys(_driver_daemon_sets(app)) if app.live(*item)]


def _pools(driver: Driver, nodes: Nodes) -> list[Pool]:
    """The pools of nodes; NimError if node labels are missing or ambiguous."""
    if not nodes.with_gpu:
        return []
    if not driver.is_precompiled:
        return [Pool(NAME, nodes.operating_system)]
    pools = []
    for kernel, system in sorted(nodes.kernels.items()):
        _refuse_side_containers(driver, kernel)
        name = f"{NAME}-{short_kernel(kernel)}-{system.id}{system.version}"
        pools.append(Pool(name, system, kernel))
    return pools


def _refuse_side_containers(driver: Driver, kernel: str) -> None:
    """Raise NimError if a side container is enabled that must be compiled on the node."""
    if why := why_not_precompiled(driver):
        raise SpecError(
            "unable to deploy precompiled driver daemonsets [failed to handle Precompiled"
            f" Driver Daemonset for version {kernel}: {why}]"
        )


def _daemon_set(app: PolicyApp, driver: Driver, pool: Pool) -> Manifest:
    image = _image(driver, pool, app.observed)
    images = pool_images(driver, image, pool, app.observed)
    kernel = {KERNEL: pool.kernel} if pool.kernel else {}
    pod = pool_pod(driver, images, pool, app.nodes.runtime, app.namespace, app.live)
    marks = license_marks(app, driver.sources, pool.name)
    workload = Workload(
        pool.name,
        "driver",
        _ACCOUNT,
        labels={COMPONENT_LABEL: COMPONENT, PRECOMPILED_LABEL: str(bool(kernel)).lower()},
        annotations={**DEFAULT_CONTAINER, **marks.pods},
        marks=marks.record,
        nodes=kernel,
        constraint=_ACCOUNT,
        is_on_delete=True,
    )
    return build_daemon_set(app, workload, pod)


def _image(driver: Driver, pool: Pool, observed: Observed) -> str:
    """The image of the driver for a pool."""
    operand, tag = driver.operand, pool.system.tag
    if pool.kernel:
        return precompiled_image(operand, pool.kernel, tag)
    return with_os(resolve_image(operand, "DRIVER_IMAGE", observed), tag)


def _driver_daemon_sets(app: PolicyApp) -> list[tuple[str, str]]:
    """The wanted DaemonSets, and existing ones for other kernels or the other mode."""
    names = [str(item["metadata"]["name"]) for item in app.daemon_sets]
    with contextlib.suppress(NimError):
        names += [pool.name for pool in _pools(app.spec.driver, app.nodes)]
    return [("DaemonSet", name) for name in names]


def _keeps(app: PolicyApp, kind: str, name: str) -> bool:
    """Whether a DaemonSet stays: for a kernel that no node has, it stays while it has pods."""
    if keep_without_gpu(app, kind, name):
        return True
    if kind != "DaemonSet" or not app.spec.driver.is_precompiled or name == NAME:
        return False
    status = (app.live(kind, name) or {}).get("status") or {}
    return bool(status.get("desiredNumberScheduled") or status.get("numberMisscheduled"))


OPERAND = Operand(
    "state-driver",
    objects=(
        *role_names(_ACCOUNT, has_cluster_role=True),
        ("ConfigMap", PROBE_CONFIG_MAP),
        ("DaemonSet", NAME),
    ),
    children=_children,
    is_enabled=lambda spec: spec.driver.operand.is_enabled,
    extra=_driver_daemon_sets,
    keeps=_keeps,
)
