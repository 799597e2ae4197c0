# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Assumed nodes for rendering the GPU stack without a cluster.

Without nodes, the stack would have no DaemonSets, its main part.
"""

from __future__ import annotations

import re
import typing as t

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._engine.observed import Observed
from ..._gpu.app import StackApp
from ..._gpu.nodes import (
    DEVICE,
    GPU_PRESENT,
    KERNEL,
    OS_ID,
    OS_MAJOR,
    OS_VERSION,
    OperatingSystem,
)
from ..._kinds import kind_of

SYSTEM = "ubuntu24.04"

_SYSTEM = re.compile(r"([a-z][a-z-]*?)([0-9][0-9.]*)")


def assumed_nodes(
    resources: t.Iterable[Manifest],
    facts: t.Iterable[Manifest],
    system: str = SYSTEM,
    kernels: t.Sequence[str] = (),
) -> list[Manifest]:
    """Return a GPU node for each node selector of these custom resources, and for each kernel.

    The list is empty if no resource belongs to the GPU stack, or if the facts contain nodes.
    NimError if ``system`` is not an operating system.
    """
    apps = [kind_of(item).app(item, Observed({})) for item in resources]
    stack = [app for app in apps if isinstance(app, StackApp)]
    if not stack or any(item["kind"] == "Node" for item in facts):
        return []
    found = check_system(system)
    labels = {
        GPU_PRESENT: "true",
        DEVICE: "true",
        OS_ID: found.id,
        OS_VERSION: found.version,
        OS_MAJOR: found.major,
    }
    kinds = [
        {**labels, **selector, **({KERNEL: kernel} if kernel else {})}
        for selector in _selectors(stack)
        for kernel in kernels or [""]
    ]
    return [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"assumed-{number}", "labels": item},
        }
        for number, item in enumerate(kinds)
    ]


def check_system(name: str) -> OperatingSystem:
    """Parse the name of an operating system; NimError if it is invalid."""
    parts = _SYSTEM.fullmatch(name)
    if not parts:
        raise NimError(f"systems: {name!r} is not a name with a version, such as {SYSTEM}")
    return OperatingSystem(parts[1], parts[2])


def describe_assumed(nodes: t.Sequence[Manifest]) -> str:
    """Describe the assumption, and how to replace it."""
    count = "one node with a GPU" if len(nodes) == 1 else f"{len(nodes)} nodes with GPUs"
    return (
        f"assumed: {count} and {SYSTEM}; name the nodes of your cluster in facts, such as those of"
        " kubectl get nodes --output yaml"
    )


def _selectors(stack: t.Iterable[StackApp]) -> list[t.Mapping[str, str]]:
    """The node selectors of resources; the first is empty, for resources without a selector."""
    found: list[t.Mapping[str, str]] = [{}]
    for app in stack:
        if app.node_selector not in found:
            found.append(app.node_selector)
    return found
