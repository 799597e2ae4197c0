# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Whether nodes have GPUs: Node Feature Discovery removes its labels while it restarts.

A node whose label is gone keeps the stack for five minutes, and as long as pods use its GPUs. An
annotation of the node stores the time.
"""

from __future__ import annotations

import typing as t

from ..._base.printable import name_some
from ..._base.types import Manifest
from ..._builders.pod import has_ended
from ..._engine.desired import Event
from ..._engine.observed import Observed
from ..._engine.reads import Read, ReadTime
from ..._engine.status_builder import StatusBuilder
from ..cluster import NODES
from ..nodes import GPU_PRESENT, MISSING_SINCE, has_device, labels_of
from ..upgrade.pods import claims_of, has_gpus, name_pods
from ..upgrade.reads import CLAIMS, claims_by_name, read_pods_on, seconds_of
from ..upgrade.snapshot import Node
from .node_labels import OPERANDS, Presence, is_turned_off

_KEPT_SECONDS = 300
_MAX_READ, _TURN_SECONDS = 20, 15
"""A pass reads the pods of at most this many nodes; after this time, those of the next ones."""
_MAX_NAMED = 3
_REASON = "GPULabelMissing"


def find_presence(observed: Observed, node: Manifest) -> Presence:
    """Whether a node has a GPU, according to the answers so far."""
    if not _is_lost(node):
        return Presence(has_device(node))
    if not _is_over(observed, node) or _users(observed, node) != []:
        return Presence(has_gpu=True, missing_since=_since(observed, node), is_kept=True)
    return Presence(has_gpu=False)


def presence_reads(observed: Observed) -> list[Read]:
    """Return the reads that decide whether the stack stays on nodes; none if all have labels."""
    nodes = observed.get(NODES.key) or []
    lost = [node for node in nodes if _is_lost(node)]
    if lost and not observed.has(ReadTime().key):
        return [ReadTime()]
    over = [node for node in lost if _is_over(observed, node)]
    turn = seconds_of(observed) // _TURN_SECONDS * _MAX_READ % max(1, len(over))
    checked = [*over[turn:], *over[:turn]][:_MAX_READ]
    checked += [node for node in nodes if is_turned_off(node)][:_MAX_READ]
    pods = [read_pods_on(_name(node)) for node in checked]
    listed = [pod for read in pods for pod in observed.get(read.key) or []]
    claims = [CLAIMS] if any(claims_of(pod) for pod in listed) else []
    return [*([ReadTime()] if lost else []), *pods, *claims]


def report_presence(
    builder: StatusBuilder, observed: Observed, found: t.Iterable[tuple[Manifest, Presence]]
) -> None:
    """Report nodes whose label is missing, and pods that use GPUs where the stack is turned off."""
    kept = []
    for node, presence in found:
        if presence.is_kept:
            kept.append(node)
        elif is_turned_off(node) and (users := _users(observed, node)):
            message = (
                f"node {_name(node)}: the label {OPERANDS}=false removes the GPU stack and its"
                f" driver, while pods use GPUs: {name_pods(users)}"
            )
            builder.events.append(Event("Warning", "GPUsInUse", message))
    if not kept:
        return
    new = [node for node in kept if not Node(node).annotation(MISSING_SINCE)]
    if new:
        builder.events.append(Event("Warning", _REASON, _describe(new, [])))
    users = [pod for node in kept for pod in _users(observed, node) or []]
    is_idle = builder.reconciling is None
    reason, before = builder.reconciling or (_REASON, "")
    builder.reconciling = (reason, "; ".join(filter(None, (before, _describe(kept, users)))))
    if is_idle and not builder.requeue.after:
        builder.requeue_slowly()


def _describe(nodes: t.Sequence[Manifest], users: t.Sequence[Manifest]) -> str:
    names = name_some(sorted(map(_name, nodes)), _MAX_NAMED)
    used = f" ({name_pods(users)})" if users else ""
    return (
        f"node {names}: the label of Node Feature Discovery for a GPU is missing. The GPU stack is"
        f" kept for {_KEPT_SECONDS // 60} minutes, and while pods use GPUs there{used}. Check Node"
        " Feature Discovery"
    )


def _is_lost(node: Manifest) -> bool:
    """Whether a node that had a GPU has no label for it."""
    return labels_of(node).get(GPU_PRESENT) == "true" and not has_device(node)


def _is_over(observed: Observed, node: Manifest) -> bool:
    """Whether a label has been missing for long enough; also where time stands still."""
    now = seconds_of(observed)
    return not now or now - _since(observed, node) >= _KEPT_SECONDS


def _since(observed: Observed, node: Manifest) -> int:
    """When the label was first missing: now if it was there before."""
    now = seconds_of(observed)
    return min(Node(node).seconds(MISSING_SINCE) or now, now)


def _users(observed: Observed, node: Manifest) -> list[Manifest] | None:
    """The pods that use GPUs of a node; None if its pods were not read."""
    pods = observed.get(read_pods_on(_name(node)).key)
    if pods is None:
        return None
    claims = claims_by_name(observed)
    return [pod for pod in pods if not has_ended(pod) and has_gpus(pod, claims)]


def _name(node: Manifest) -> str:
    return str(node["metadata"]["name"])
