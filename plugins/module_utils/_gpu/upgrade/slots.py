# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How many nodes may begin their upgrade now."""

from __future__ import annotations

import typing as t

from . import states
from .policy import UpgradePolicy
from .snapshot import Node


def count_slots(nodes: t.Sequence[Node], policy: UpgradePolicy) -> int:
    """How many nodes may begin; a failed node keeps its slot."""
    pending = sum(node.state == states.REQUIRED for node in nodes)
    running = sum(node.state in states.RUNNING for node in nodes)
    slots = policy.max_parallel - running if policy.max_parallel else pending
    unavailable = sum(_is_unavailable(node) for node in nodes)
    return max(0, min(slots, policy.count_unavailable(len(nodes)) - unavailable))


def _is_unavailable(node: Node) -> bool:
    """Whether a node serves nothing new, or is about to."""
    return node.is_cordoned or not node.is_ready or node.state == states.CORDON
