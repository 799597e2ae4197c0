# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The driver's pods of a pool of nodes, with everything that a spec of any kind names."""

from __future__ import annotations

from dataclasses import dataclass

from .._base.errors import NimError
from .._base.types import Manifest
from .._builders.app import App
from . import scripts
from .driver import MAIN, MANAGER, Driver, Images, Scripts, build_driver_pod
from .driver_files import Node, Sources, build_files
from .kept import put_digest
from .nodes import OperatingSystem
from .permissions import rule
from .pods import Item

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


def pool_pod(
    app: App,
    pool: Pool,
    driver: Driver,
    sources: Sources,
    images: Images,
    runtime: str,
    secret_field: str,
) -> Item:
    """The spec of the pods; NimError if something is missing that the spec names.

    ``runtime``: of the nodes. ``secret_field``: how the spec spells the one of the environment.
    """
    node = Node(pool.system.id, pool.system.tag, runtime, driver.is_precompiled)
    files = build_files(sources, node, lambda field, name: _keys_of(app, field, name))
    name = driver.secret_env
    if name and not driver.is_precompiled and app.live("Secret", name) is None:
        raise NimError(_missing(secret_field, "Secret", name))
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


def _keys_of(app: App, field: str, name: str) -> list[str]:
    """The keys of a ConfigMap; NimError if there is none of that name."""
    live = app.live("ConfigMap", name)
    if live is None:
        raise NimError(_missing(field, "ConfigMap", name))
    return sorted(live.get("data") or {})


def _missing(field: str, kind: str, name: str) -> str:
    return f'{field}: could not get {kind} {name} from client: {kind} "{name}" not found'
