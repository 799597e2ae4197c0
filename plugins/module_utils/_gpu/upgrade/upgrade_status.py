# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a step of an upgrade tells, in a condition and in events: no times, and only a few nodes."""

from __future__ import annotations

from ..._engine.desired import Event, Requeue
from ..._engine.status_builder import StatusBuilder
from . import states
from .step import NodeStep, Step, short

_MAX_NODES, _MAX_EVENTS = 3, 10
_REASON = "DriverUpgrade"


def report_upgrade(builder: StatusBuilder, step: Step) -> None:
    """An upgrade goes on step by step, which nobody tells, so somebody has to look.

    Meanwhile the drivers themselves are not ready, which is told as well.
    """
    builder.events += upgrade_events(step)
    if step.is_over:
        return
    builder.requeue = Requeue(after=True)
    reason, before = builder.reconciling or (_REASON, "")
    told = describe_upgrade(step) or ("" if before else "the drivers of nodes are looked at")
    builder.reconciling = (reason, "; ".join(filter(None, (before, told))))


def describe_upgrade(step: Step) -> str:
    """How far it is, and what it waits for, those first that need somebody; empty if it is over."""
    running = [item for item in step.nodes if item.state in states.RUNNING]
    pending = [item for item in step.nodes if item.state == states.REQUIRED]
    if not running and not pending:
        return ""
    told = [item for item in running if item.waits] + [item for item in pending if item.is_held]
    told.sort(key=lambda item: (not item.is_stuck, not item.is_held))
    parts = [f"upgrades of drivers: {len(running)} under way, {len(pending)} to come"]
    parts += [f"node {item.node.name} waits for {item.waits}" for item in told[:_MAX_NODES]]
    if len(told) > _MAX_NODES:
        parts.append(f"{len(told) - _MAX_NODES} more nodes wait")
    return "; ".join(short(part) for part in parts)


def upgrade_events(step: Step) -> list[Event]:
    """The nodes that begin, fail or are done, and what follows from that."""
    found = [event for item in step.nodes for event in _events_of(item)]
    return found[:_MAX_EVENTS]


def _events_of(item: NodeStep) -> list[Event]:
    name, before = item.node.name, item.node.state
    found = [_warn(f"node {name}: {note}") for note in item.notes]
    if not item.has_moved:
        return found
    if item.is_released:
        found.append(_tell(f"node {name} is left: its driver is not upgraded any more"))
    elif item.state == states.FAILED:
        found.append(_warn(f"the upgrade of node {name} failed: {item.waits}"))
    elif before == states.REQUIRED and item.state in states.RUNNING:
        found.append(_tell(f"the upgrade of node {name} begins"))
    elif before in states.RUNNING and item.state == states.DONE:
        found.append(_tell(f"node {name} is upgraded"))
    return found


def _tell(message: str) -> Event:
    return Event("Normal", _REASON, short(message))


def _warn(message: str) -> Event:
    return Event("Warning", _REASON, short(message))
