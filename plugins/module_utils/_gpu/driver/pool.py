# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the driver pods of a pool of nodes, with the objects that the spec refers to."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.observed import Observed
from ..._engine.reads import Read, ReadObject, ReadPresence
from .. import scripts
from ..fields import SpecError
from ..images import precompiled_image, resolve_image, with_os
from ..nodes import OperatingSystem
from ..operand_spec import OperandSpec
from ..pods import Item
from ..preserve_live import set_digest
from ..rbac import rule
from .files import build_files
from .pod import MAIN, MANAGER, Images, build_driver_pod
from .spec import Driver

CLUSTER_RULES = [
    rule("clusterversions", "get list", "config.openshift.io"),
    rule("nodes", "get list patch update watch"),
    rule("pods", "get list watch"),
    rule("pods/eviction", "create"),
    rule("resourceclaims", "get list", "resource.k8s.io"),
    rule("daemonsets", "get", "apps"),
]
"""Permissions of the driver pods."""

_NOT_PRECOMPILED = {
    "gds": "GPUDirect Storage driver (nvidia-fs)",
    "gdrcopy": "GDRCopy",
}

Live = t.Callable[[str, str], t.Optional[Manifest]]  # noqa: UP045 Python evaluates this alias


@dataclass(frozen=True)
class Pool:
    """The nodes of a DaemonSet; ``kernel``: their kernel, for precompiled drivers."""

    name: str
    system: OperatingSystem
    kernel: str = ""


def pool_reads(driver: Driver, namespace: str) -> list[Read]:
    """Return the reads of the objects that the spec refers to and `pool_pod` needs."""
    names = driver.sources.read.values()
    found: list[Read] = [ReadObject("ConfigMap", namespace, name) for name in names]
    if secret := driver.secret_env:
        found.append(ReadPresence("Secret", namespace, secret))
    return found


def pool_images(driver: Driver, image: str, pool: Pool, observed: Observed) -> Images:
    """Resolve the images; ``image``: the driver's. NimError if the spec sets only part of one."""
    tag = pool.system.tag

    def side(operand: OperandSpec, variable: str, *, is_precompiled: bool = False) -> str:
        if not operand.is_enabled:
            return ""
        if is_precompiled and not pool.kernel:
            raise SpecError(
                "gdrcopy.usePrecompiled: its image is for one kernel, as that of a precompiled"
                " driver: set usePrecompiled of the driver as well, or neither"
            )
        if is_precompiled:
            return precompiled_image(operand, pool.kernel, tag, field="gdrcopy")
        return with_os(resolve_image(operand, variable, observed), tag)

    return Images(
        driver=image,
        manager=resolve_image(driver.manager, "DRIVER_MANAGER_IMAGE", observed),
        gds=side(driver.gds, "GDS_IMAGE"),
        gdrcopy=side(
            driver.gdrcopy, "GDRCOPY_IMAGE", is_precompiled=driver.has_precompiled_gdrcopy
        ),
    )


def pool_pod(
    driver: Driver, images: Images, pool: Pool, runtime: str, namespace: str, live: Live
) -> Item:
    """Build the pod spec; NimError if an object that the spec refers to is missing.

    ``runtime``: the container runtime of the nodes. ``live``: finds an object of the ``namespace``
    by kind and name.
    """

    def keys_of(field: str, name: str) -> list[str]:
        found = live("ConfigMap", name)
        if found is None:
            raise NimError(_missing(field, "ConfigMap", name, namespace))
        return sorted(found.get("data") or {})

    files = build_files(driver, pool.system, runtime, keys_of)
    secret = driver.secret_env
    if secret and not driver.is_precompiled and live("Secret", secret) is None:
        raise NimError(_missing(driver.sources.path_of("secret_env"), "Secret", secret, namespace))
    pod = build_driver_pod(driver, images, files)
    set_digest(pod, live("DaemonSet", pool.name), (MANAGER, MAIN), scripts.TEXTS)
    return pod


def why_not_precompiled(driver: Driver) -> str:
    """Why the driver cannot be precompiled: a side container is compiled; empty if it can be."""
    for field, what in _NOT_PRECOMPILED.items():
        is_precompiled = field == "gdrcopy" and driver.has_precompiled_gdrcopy
        if getattr(driver, field).is_enabled and not is_precompiled:
            return f"{what} is not supported along with pre-compiled NVIDIA drivers"
    return ""


def _missing(field: str, kind: str, name: str, namespace: str) -> str:
    text = f'{field}: could not get {kind} {name} from client: {kind} "{name}" not found'
    return f"{text} in namespace {namespace}"
