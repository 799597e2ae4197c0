# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reports a step of an upgrade in a condition and in events: a few nodes, and no times."""

from __future__ import annotations

from ..._engine.desired import Event, Requeue
from ..._engine.status_builder import StatusBuilder
from . import states
from .step import NodeStep, Step, short

_MAX_NODES, _MAX_EVENTS = 3, 10
_REASON = "DriverUpgrade"


def report_upgrade(builder: StatusBuilder, step: Step) -> None:
    """Report the progress of an upgrade in the condition Reconciling, and request a poll.

    An upgrade advances in steps that trigger no watch event, so poll while one is in progress; less
    often while all its nodes wait for a person. The message is appended to the reason why the
    drivers are not ready.
    """
    builder.events += upgrade_events(step)
    builder.gauges["upgrades_available"] = step.slots
    if step.is_over:
        return
    builder.requeue = Requeue(after=True, slow=_is_stuck(step))
    reason, before = builder.reconciling or (_REASON, "")
    progress = describe_upgrade(step) or ("" if before else "checking the driver of each node")
    builder.reconciling = (reason, "; ".join(filter(None, (before, progress))))


def is_under_way(step: Step) -> bool:
    """Whether nodes are being upgraded, have failed, or wait for their turn."""
    return any(item.state not in (states.UNKNOWN, states.DONE) for item in step.nodes)


def describe_upgrade(step: Step) -> str:
    """Describe the progress, nodes that need manual action first; empty if it is complete."""
    running = [item for item in step.nodes if item.state in states.RUNNING]
    pending = [item for item in step.nodes if item.state == states.REQUIRED]
    if not running and not pending:
        return ""
    waiting = [item for item in running if item.waits] + [item for item in pending if item.is_held]
    waiting.sort(key=lambda item: (not item.is_stuck, not item.is_held))
    cordoned = sum(item.node.is_cordoned for item in pending)
    left = f" ({cordoned} cordoned by others)" if cordoned else ""
    parts = [f"driver upgrades: {len(running)} in progress, {len(pending)} pending{left}"]
    parts += [f"node {item.node.name} waits for {item.waits}" for item in waiting[:_MAX_NODES]]
    if len(waiting) > _MAX_NODES:
        parts.append(f"{len(waiting) - _MAX_NODES} more nodes wait")
    return "; ".join(short(part) for part in parts)


def _is_stuck(step: Step) -> bool:
    """Whether each node in progress has failed or, without any, users hold all that wait."""
    running = [item for item in step.nodes if item.state in states.RUNNING]
    pending = [item for item in step.nodes if item.state == states.REQUIRED]
    if any(item.has_moved for item in step.nodes):
        return False
    if running:
        return all(item.state == states.FAILED for item in running)
    return bool(pending) and all(item.waits_for_user for item in pending)


def upgrade_events(step: Step) -> list[Event]:
    """Events for nodes that start, fail or finish, and for the consequences."""
    found = [event for item in step.nodes for event in _events_of(item)]
    return found[:_MAX_EVENTS]


def _events_of(item: NodeStep) -> list[Event]:
    name, before = item.node.name, item.node.state
    found = [_warning(f"node {name}: {note}") for note in item.notes]
    if not item.has_moved:
        return found
    if item.is_released:
        found.append(_normal(f"node {name} is released: its driver is no longer upgraded"))
    elif item.state == states.FAILED:
        found.append(_warning(f"the upgrade of node {name} failed: {item.waits}"))
    elif before == states.REQUIRED and item.state in states.RUNNING:
        found.append(_normal(f"the upgrade of node {name} starts"))
    elif before in states.RUNNING and item.state == states.DONE:
        found.append(_normal(f"node {name} is upgraded"))
    return found


def _normal(message: str) -> Event:
    return Event("Normal", _REASON, short(message))


def _warning(message: str) -> Event:
    return Event("Warning", _REASON, short(message))
