# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Number of nodes that may start their upgrade now."""

from __future__ import annotations

import typing as t

from . import states
from .policy import UpgradePolicy
from .snapshot import Node


def count_slots(nodes: t.Sequence[Node], policy: UpgradePolicy) -> int:
    """Return how many nodes may start; a failed node keeps its slot."""
    pending = sum(node.state == states.REQUIRED for node in nodes)
    running = sum(node.state in states.RUNNING for node in nodes)
    slots = policy.max_parallel - running if policy.max_parallel else pending
    unavailable = sum(_is_unavailable(node) for node in nodes)
    return max(0, min(slots, policy.count_unavailable(len(nodes)) - unavailable))


def _is_unavailable(node: Node) -> bool:
    """Whether a node accepts no new pods, or is about to be cordoned."""
    return node.is_cordoned or not node.is_ready or node.state == states.CORDON
