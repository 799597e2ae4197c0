# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How many nodes may begin their upgrade now, and how many are where."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass

from . import names
from .policy import UpgradePolicy
from .scene import Node


@dataclass(frozen=True)
class Tally:
    """The figures of the reference's metrics."""

    in_progress: int
    done: int
    failed: int
    available: int
    pending: int

    def to_dict(self) -> dict[str, int]:
        """As plain data."""
        return asdict(self)


def count_slots(nodes: t.Sequence[Node], policy: UpgradePolicy) -> int:
    """How many nodes may begin; a failed node keeps its slot."""
    pending = sum(node.state == names.REQUIRED for node in nodes)
    running = sum(node.state in names.RUNNING for node in nodes)
    slots = policy.max_parallel - running if policy.max_parallel else pending
    unavailable = sum(_is_unavailable(node) for node in nodes)
    return max(0, min(slots, policy.count_unavailable(len(nodes)) - unavailable))


def tally(nodes: t.Sequence[Node], policy: UpgradePolicy) -> Tally:
    """How many nodes are where, and how many more may begin."""
    states = [node.state for node in nodes]
    return Tally(
        in_progress=sum(state in names.RUNNING and state != names.FAILED for state in states),
        done=states.count(names.DONE),
        failed=states.count(names.FAILED),
        available=count_slots(nodes, policy),
        pending=states.count(names.REQUIRED),
    )


def _is_unavailable(node: Node) -> bool:
    """Whether a node serves nothing new, or is about to."""
    return node.is_cordoned or not node.is_ready or node.state == names.CORDON
