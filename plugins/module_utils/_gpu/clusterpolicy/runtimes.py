# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes with different container runtimes: the toolkit serves one runtime and spares the others."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.printable import name_some
from ..._base.types import Manifest
from ..components import TOOLKIT
from ..nodes import DEPLOY, Nodes, labels_of, preferred_runtime, runtime_of
from ..pods import env_value

TOOLKIT_NAME = "nvidia-container-toolkit-daemonset"
TOOLKIT_CONTAINER = "nvidia-container-toolkit-ctr"
TOOLKIT_LABEL = f"{DEPLOY}{TOOLKIT}"

_MAX_NODES = 5


@dataclass(frozen=True)
class Toolkit:
    """The container runtime that the toolkit configures; ``others``: nodes that use another one."""

    runtime: str
    others: t.Mapping[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> str:
        """The remedy for the other nodes; empty if there are none."""
        if not self.others:
            return ""
        named = [f"{name} ({runtime})" for name, runtime in sorted(self.others.items())]
        return (
            f"the container toolkit is deployed for {self.runtime}, and these nodes use another"
            f" container runtime: {name_some(named, _MAX_NODES)}; install the toolkit on"
            f" them yourself, and set their label {TOOLKIT_LABEL} to false"
        )


def find_toolkit(nodes: Nodes, live: Manifest | None) -> Toolkit:
    """Return the runtime of the toolkit, for nodes with the labels that a policy would set.

    While a node has the runtime of the deployed toolkit, the toolkit keeps it: a new node with
    another runtime must not change the configuration of those that work.
    """
    by_name = {
        str(node["metadata"]["name"]): runtime
        for node in nodes.with_gpu
        if labels_of(node).get(TOOLKIT_LABEL, "false") != "false" and (runtime := runtime_of(node))
    }
    runtime = _deployed(live)
    if runtime not in by_name.values():
        runtime = preferred_runtime(by_name.values()) if by_name else nodes.runtime
    others = {name: other for name, other in by_name.items() if other != runtime}
    return Toolkit(runtime, others)


def _deployed(live: Manifest | None) -> str:
    """The runtime of the deployed toolkit; empty if there is none."""
    if live is None:
        return ""
    for container in live["spec"]["template"]["spec"]["containers"]:
        if container["name"] == TOOLKIT_CONTAINER:
            return env_value(container, "RUNTIME") or ""
    return ""
