# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a ClusterPolicy: whether its states are ready, and if not, which, where and why."""

from __future__ import annotations

from .._engine.desired import Assessment, Event, Manifest, Outcome
from .._engine.status_builder import StatusBuilder
from .app import PolicyApp
from .desired import is_served
from .obstacles import CONFLICT, find_obstacle
from .order import STATES
from .readiness import is_ready
from .state import State
from .why import explain

READY, ERROR = "Ready", "Error"
_READY, _NOT_READY, _IGNORED = "ready", "notReady", "ignored"
_FAILED = "ReconcileFailed"
_RECONCILED = "ClusterPolicy is ready as all resources have been successfully reconciled"
_NO_GPU = "No GPU node found, watching for new nodes to join the cluster."


def assess(app: PolicyApp, outcome: Outcome) -> Assessment:
    """The new status, and when to look again."""
    builder = StatusBuilder(dict(app.status))
    builder.set_field("namespace", app.namespace)
    if not app.is_active:
        _ignore(builder, app)
        return builder.finish()
    now = app.at(outcome.view(app.observed))
    if failure := outcome.failure or _refusals(app, outcome):
        _fail(builder, app, failure, is_final=_is_final(app, outcome))
    elif waiting := _waiting(now):
        _wait(builder, now, waiting)
    else:
        _succeed(builder, app)
    if not outcome.failure and not app.upgrade.is_over:
        builder.is_polled = True
    return builder.finish()


def _ignore(builder: StatusBuilder, app: PolicyApp) -> None:
    """An older policy is active; nobody tells when it goes."""
    message = f"ClusterPolicy {app.active} is older, and only one is active: delete one of the two"
    if builder.state != _IGNORED:
        builder.events.append(Event("Warning", "Ignored", message))
    builder.set_field("state", _IGNORED)
    builder.set_condition(READY, False, "Ignored", message)
    builder.set_condition(ERROR, False, "Ignored")
    builder.is_polled = True
    builder.is_requeued_slowly = True


def _refusals(app: PolicyApp, outcome: Outcome) -> str:
    """What the API server refused, in the words of the state that wants it."""
    for state in STATES:
        names = set(state.names(app))
        for item in outcome.refusals:
            if (item.kind, item.name) in names:
                return f"Failed to reconcile {state.name}: {item.message}"
    return "; ".join(item.message for item in outcome.refusals)


def _is_final(app: PolicyApp, outcome: Outcome) -> bool:
    """Whether only another spec, or another cluster, can help: trying again cannot."""
    return outcome.is_final or find_obstacle(app) is not None


def _fail(builder: StatusBuilder, app: PolicyApp, message: str, *, is_final: bool) -> None:
    obstacle = find_obstacle(app)
    reason = obstacle.reason if obstacle and obstacle.reason != CONFLICT else _FAILED
    _set_error(builder, reason, message)
    if is_final:
        builder.stalled = (reason, message)
        builder.is_polled = True
        builder.is_requeued_slowly = True
    else:
        builder.retry(message)


def _waiting(app: PolicyApp) -> list[tuple[State, list[Manifest]]]:
    """The states that are not ready, and their DaemonSets that are not."""
    found = []
    for state in STATES:
        if not is_served(app, state) or not app.nodes.with_gpu:
            continue
        live = (app.live("DaemonSet", name) for name in state.daemon_sets(app))
        if unready := [item for item in live if item and not is_ready(item)]:
            found.append((state, unready))
    return found


def _wait(
    builder: StatusBuilder, app: PolicyApp, waiting: list[tuple[State, list[Manifest]]]
) -> None:
    names = " ".join(state.name for state, _unready in waiting)
    _set_error(
        builder, "OperandNotReady", f"ClusterPolicy is not ready; states not ready: [{names}]"
    )
    told = [f"{state.name}: {explain(app, item)}" for state, unready in waiting for item in unready]
    builder.reconciling = ("OperandNotReady", "; ".join(told))


def _set_error(builder: StatusBuilder, reason: str, message: str) -> None:
    before = next((item for item in builder.conditions if item["type"] == ERROR), {})
    if reason != "OperandNotReady" and before.get("message") != message:
        builder.events.append(Event("Warning", reason, message))
    builder.set_field("state", _NOT_READY)
    builder.set_condition(READY, False, ERROR)
    builder.set_condition(ERROR, True, reason, message)


def _succeed(builder: StatusBuilder, app: PolicyApp) -> None:
    reason, message = "Reconciled", _RECONCILED
    if not app.nodes.have_nfd_labels:
        reason, message = "NFDLabelsMissing", "No NFD labels found"
        builder.is_polled = True
        builder.is_requeued_slowly = True
    elif not app.nodes.with_gpu:
        reason, message = "NoGPUNodes", _NO_GPU
    if builder.state != _READY:
        builder.events.append(Event("Normal", reason, message))
    builder.set_field("state", _READY)
    builder.set_condition(READY, True, reason, message)
    builder.set_condition(ERROR, False, "Ready")
