# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMPipeline: states of its services and problems with its entries."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._base.reserved_keys import is_reserved_key
from ..._builders.nim_metadata import SERVICE_STATE, reported_state
from ..._builders.replicas import report_hold
from ..._builders.verdict import SCALED_TO_ZERO
from ..._engine.conditions import RECONCILING, STALLED, find_condition
from ..._engine.desired import Assessment, Event, Outcome, Refusal, Requeue
from ..._engine.metadata import finalizers_of
from ..._engine.status_builder import StatusBuilder
from .app import NIMPipelineApp
from .entries import SERVICE, Problem, enabled_entries, find_problems
from .scaling import find_holds

READY, NOT_READY, FAILED = "Ready", "NotReady", "Failed"

States = dict[str, str]


def assess(app: NIMPipelineApp, outcome: Outcome) -> Assessment:
    """The status and events after a pass; a problem with one entry does not affect the rest."""
    builder = StatusBuilder(dict(app.status), requeue_while_reconciling=False)
    if outcome.is_final:
        builder.set_field("state", FAILED)
        builder.stalled = (outcome.failure_reason, outcome.failure)
        builder.events += _warnings(app, builder)
        return _finish(builder)
    if outcome.failure:
        _retry(builder, app, outcome.failure)
        return _finish(builder)
    now = app.at(outcome.view(app.observed))
    refused, undeleted = _split(app, outcome.refusals)
    refusals = (_explain(app, refusal) for refusal in refused.values())
    problems = sorted([*find_problems(app), *refusals], key=lambda problem: problem.entry.index)
    states = {
        name: _state_in(now, name) if entry.has_valid_name and name not in refused else FAILED
        for name, entry in enabled_entries(app).items()
        # The API server would refuse a status with this key; the condition reports the name.
        if not is_reserved_key(name)
    }
    off = {name for name in states if _reported_in(now, name) == SCALED_TO_ZERO}
    builder.set_field("state", _overall_state(states, problems, off))
    builder.set_field("states", states)
    is_ready = [state == READY for name, state in states.items() if name not in off]
    builder.set_ready("readyServices", sum(is_ready), len(is_ready))
    awaited = [
        f"{name}{_deletion_of(now, name)}"
        for name, state in states.items()
        if state not in (READY, FAILED) and name not in off
    ]
    _set_progress(builder, states, problems, undeleted, awaited)
    builder.events += _events(app, builder, states, off)
    report_hold(builder, find_holds(now))
    builder.requeue = Requeue(after=_is_behind(now))
    builder.error = "; ".join(item.message for item in outcome.refusals if not item.reason)
    return _finish(builder, SCALED_TO_ZERO if off else "")


def refuse(app: NIMPipelineApp, error: NimError) -> Assessment:
    """The status of a pipeline that is too large."""
    builder = StatusBuilder(dict(app.status), requeue_while_reconciling=False)
    builder.set_field("state", FAILED)
    builder.stalled = (error.reason, str(error))
    stalled = find_condition(app.status.get("conditions"), STALLED) or {}
    if stalled.get("message") != str(error):
        builder.events.append(Event("Warning", error.reason, str(error)))
    return _finish(builder)


def _finish(builder: StatusBuilder, reason: str = "") -> Assessment:
    builder.derive_ready(reason)
    return builder.finish()


def _retry(builder: StatusBuilder, app: NIMPipelineApp, failure: str) -> None:
    """Report the failure and keep the rest of the status: this pass did not read the services."""
    reconciling = find_condition(builder.conditions, RECONCILING) or {}
    if reconciling.get("message") != failure:
        text = f"NIMPipeline {app.name} reconcile failed, msg: {failure}"
        builder.events.append(Event("Warning", "ReconcileFailed", text))
    builder.status.setdefault("state", NOT_READY)
    builder.retry(failure)


def _split(
    app: NIMPipelineApp, refusals: t.Sequence[Refusal]
) -> tuple[dict[str, Refusal], list[Refusal]]:
    """Divide refusals into refused writes, by service, and refused deletions."""
    wanted = enabled_entries(app)
    refused = {refusal.name: refusal for refusal in refusals if refusal.name in wanted}
    return refused, [refusal for refusal in refusals if refusal.name not in wanted]


def _explain(app: NIMPipelineApp, refusal: Refusal) -> Problem:
    """The problem behind a refusal: the API server's message, or another owner."""
    entry = enabled_entries(app)[refusal.name]
    live = app.live(SERVICE, refusal.name)
    if live is None or app.controls(live):
        return Problem(entry, "NIMServiceRefused", f"{entry.where}: {refusal.message}")
    text = (
        f"{entry.where}: NIMservice {refusal.name} already exists and is not owned by the"
        f" NIMPipeline {app.name}: delete that NIMService, or change the name here"
    )
    return Problem(entry, "NIMServiceNotOwned", text)


def _state_in(app: NIMPipelineApp, name: str) -> str:
    """The state of a service, empty until it reports one."""
    live = app.live(SERVICE, name)
    if live is None or not app.controls(live):
        return NOT_READY
    return str((live.get("status") or {}).get("state") or "")


def _reported_in(app: NIMPipelineApp, name: str) -> str:
    """The state that a service reports in its trigger."""
    live = app.live(SERVICE, name)
    is_ours = live is not None and app.controls(live)
    return reported_state((live or {}).get("status") or {}) if is_ours else NOT_READY


def _deletion_of(app: NIMPipelineApp, name: str) -> str:
    """That a service is being deleted, before the pipeline can create it again; else empty."""
    live = app.live(SERVICE, name)
    is_leaving = live is not None and live["metadata"].get("deletionTimestamp")
    return f" to be deleted{finalizers_of(live)}" if live and is_leaving else ""


def _overall_state(states: States, problems: t.Sequence[Problem], off: t.Container[str]) -> str:
    """The state of the pipeline, which does not wait for services that are off."""
    if problems or FAILED in states.values():
        return FAILED
    expected = [state for name, state in states.items() if name not in off]
    is_on = bool(expected) or not states
    return READY if is_on and all(state == READY for state in expected) else NOT_READY


def _set_progress(
    builder: StatusBuilder,
    states: States,
    problems: t.Sequence[Problem],
    undeleted: t.Sequence[Refusal],
    awaited: t.Sequence[str],
) -> None:
    """Set the kstatus conditions; none if all services are Ready or off."""
    broken = {problem.entry.name for problem in problems}
    failed = [name for name, state in states.items() if state == FAILED and name not in broken]
    advice = f"see the conditions of NIMService {', '.join(failed)}"
    if problems:
        messages = [problem.message for problem in problems] + [advice] * bool(failed)
        builder.stalled = (problems[0].reason, "; ".join(messages))
    elif failed:
        builder.stalled = ("NIMServiceFailed", advice)
    elif awaited:
        builder.reconciling = (NOT_READY, f"waiting for NIMService {', '.join(awaited)}")
    if undeleted:
        errors = ", ".join(f"{refusal.name}: {refusal.message}" for refusal in undeleted)
        builder.reconciling = ("CleanupFailed", f"errors during cleanup: [{errors}]")


def _events(
    app: NIMPipelineApp, builder: StatusBuilder, states: States, off: t.Collection[str]
) -> list[Event]:
    """Events for changes since the last pass."""
    events = []
    if (app.status.get("state"), app.status.get("states")) != (builder.state, states or None):
        shown = " ".join(f"{name}:{state}" for name, state in sorted(states.items()))
        text = f"NIMPipeline {app.name} status {builder.state}, service states map[{shown}]"
        text += f", scaled to zero: {' '.join(sorted(off))}" if off else ""
        events.append(Event("Normal", builder.state, text))
    return events + _warnings(app, builder)


def _warnings(app: NIMPipelineApp, builder: StatusBuilder) -> list[Event]:
    """Events for obstacles to readiness that the status does not contain yet."""
    events = []
    for kind, progress in ((RECONCILING, builder.reconciling), (STALLED, builder.stalled)):
        reason, message = progress or ("", "")
        old = find_condition(app.status.get("conditions"), kind) or {}
        if reason not in ("", NOT_READY) and message != old.get("message"):
            events.append(Event("Warning", reason, message))
    return events


def _is_behind(app: NIMPipelineApp) -> bool:
    """Whether a change is due that no watch reports.

    Either another owner's service is being deleted, or a service that reported its state was read
    from the cache with the previous state.
    """
    name, _equals, state = app.annotation(SERVICE_STATE).partition("=")
    for wanted in enabled_entries(app):
        live = app.live(SERVICE, wanted)
        if live and not app.controls(live) and live["metadata"].get("deletionTimestamp"):
            return True
        if wanted == name and live and _reported_in(app, name) != state:
            return True
    return False
