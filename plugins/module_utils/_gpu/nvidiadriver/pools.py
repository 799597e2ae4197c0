# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Node pools of an NVIDIADriver, and the names of their objects."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..driver.pool import Pool
from ..nodes import (
    KERNEL,
    OS_ID,
    OS_MAJOR,
    OS_VERSION,
    OWNER,
    kernel_of,
    labels_of,
    system_of,
)
from .app import DriverApp

OS_LABEL = "nvidia.com/node.os-version"

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Alphabet of the names that Kubernetes generates; it forms no words."""
_MAX_LABEL, _MAX_NAME = 63, 253
_FNV_OFFSET, _FNV_PRIME, _32_BITS = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def pools_of(app: DriverApp) -> tuple[list[Pool], list[NimError]]:
    """Return the pools (one per operating system, and per kernel if precompiled) and errors.

    The errors concern nodes that belong to no pool.
    """
    found: dict[str, Pool] = {}
    errors = []
    for node in app.nodes.with_gpu:
        try:
            pool = pool_of(app, node)
        except NimError as error:
            errors.append(error)
            continue
        found.setdefault(pool.name, pool)
    return [found[name] for name in sorted(found)], errors


def pool_of(app: DriverApp, node: Manifest) -> Pool:
    """Return the pool of a node; NimError if its labels contradict each other."""
    system = system_of(node)
    kernel = kernel_of(node) if app.spec.driver.is_precompiled else ""
    if system.is_by_major and labels_of(node).get(OS_MAJOR) != system.major:
        raise NimError(
            f"label {OS_MAJOR} of node {node['metadata']['name']} must be {system.major}: it"
            " selects nodes whose images are the same for all minor versions"
        )
    return Pool(daemon_set_name(app, system.tag, kernel), system, kernel)


def selector_of(app: DriverApp, pool: Pool) -> dict[str, str]:
    """The node labels that select a pool."""
    system = pool.system
    version = {OS_MAJOR: system.major} if system.is_by_major else {OS_VERSION: system.version}
    kernel = {KERNEL: pool.kernel} if pool.kernel else {}
    return {OWNER: app.name, OS_ID: system.id, **version, **kernel}


def daemon_set_name(app: DriverApp, tag: str, kernel: str = "") -> str:
    """The name of a DaemonSet: unique to this resource, and short enough for a label."""
    identity = str(app.resource["metadata"].get("uid") or app.name)
    digest = short_hash(f"{identity}-{kernel}" if kernel else identity)
    start = f"nvidia-{app.spec.selection.type}-driver-{tag}"
    return f"{start[: _MAX_LABEL - len(digest) - 1]}-{digest}"


def account_name(app: DriverApp, tag: str) -> str:
    """The name of the ServiceAccount and the permissions for an operating system."""
    return f"nvidia-{app.spec.selection.type}-driver-{app.name}-{tag}"[:_MAX_NAME]


def short_hash(text: str) -> str:
    """The hash in names; equal to the reference operator's, so that it finds its DaemonSets."""
    value = _FNV_OFFSET
    for byte in text.encode():
        value = ((value ^ byte) * _FNV_PRIME) & _32_BITS
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(value))
