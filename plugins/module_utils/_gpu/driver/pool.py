# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The driver's pods of a pool of nodes, with everything that a spec of any kind names."""

from __future__ import annotations

from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.app import App
from ..._engine.observed import Observed, Read, read_object, read_presence
from .. import scripts
from ..component import Component
from ..images import resolve_image, with_os
from ..kept import put_digest
from ..nodes import OperatingSystem
from ..permissions import rule
from ..pods import Item
from .files import Node, build_files
from .pod import MAIN, MANAGER, Driver, Images, Scripts, build_driver_pod

CLUSTER_RULES = [
    rule("clusterversions", "get list", "config.openshift.io"),
    rule("nodes", "get list patch update watch"),
    rule("pods", "get list watch"),
    rule("pods/eviction", "create"),
    rule("resourceclaims", "get list", "resource.k8s.io"),
    rule("daemonsets", "get", "apps"),
]
"""What the driver's pods may do."""

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
class Pool:
    """The nodes of a DaemonSet; ``kernel``: the one that all have, for precompiled drivers."""

    name: str
    system: OperatingSystem
    kernel: str = ""


def pool_reads(driver: Driver, namespace: str) -> list[Read]:
    """What the spec names, which `pool_pod` looks at."""
    found = [read_object("ConfigMap", namespace, name) for name in driver.sources.read.values()]
    if secret := driver.secret_env:
        found.append(read_presence("Secret", namespace, secret))
    return found


def pool_pod(app: App, pool: Pool, driver: Driver, image: str, runtime: str) -> Item:
    """The spec of the pods; NimError if something is missing that the spec names.

    ``image``: of the driver. ``runtime``: of the nodes.
    """
    images = _images(app.observed, pool.system.tag, driver, image)
    node = Node(pool.system.id, pool.system.tag, runtime, driver.is_precompiled)
    files = build_files(driver.sources, node, lambda field, name: _keys_of(app, field, name))
    name = driver.secret_env
    if name and not driver.is_precompiled and app.live("Secret", name) is None:
        raise NimError(_missing(driver.sources.spelled("secret_env"), "Secret", name))
    pod = build_driver_pod(driver, images, _SCRIPTS, files)
    live: Manifest | None = app.live("DaemonSet", pool.name)
    put_digest(pod, live, (MANAGER, MAIN), scripts.TEXTS)
    return pod


def why_not_precompiled(driver: Driver) -> str:
    """What is built for the running kernel beside a driver that is not; empty if nothing is."""
    for field, what in _NOT_PRECOMPILED.items():
        if getattr(driver, field).is_enabled:
            return f"{what} is not supported along with pre-compiled NVIDIA drivers"
    return ""


def _images(observed: Observed, tag: str, driver: Driver, image: str) -> Images:
    """The images; ``image``: of the driver, and ``tag``: that of the operating system."""

    def side(component: Component, variable: str) -> str:
        if not component.is_enabled:
            return ""
        return with_os(resolve_image(component, variable, observed), tag)

    return Images(
        driver=image,
        manager=resolve_image(driver.manager, "DRIVER_MANAGER_IMAGE", observed),
        gds=side(driver.gds, "GDS_IMAGE"),
        gdrcopy=side(driver.gdrcopy, "GDRCOPY_IMAGE"),
    )


def _keys_of(app: App, field: str, name: str) -> list[str]:
    """The keys of a ConfigMap; NimError if there is none of that name."""
    live = app.live("ConfigMap", name)
    if live is None:
        raise NimError(_missing(field, "ConfigMap", name))
    return sorted(live.get("data") or {})


def _missing(field: str, kind: str, name: str) -> str:
    return f'{field}: could not get {kind} {name} from client: {kind} "{name}" not found'
