# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMCache, and the resources that a new state triggers."""

from __future__ import annotations

from dataclasses import replace

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.claim_users import is_terminating, why_terminating
from ..._builders.nim_metadata import CACHE_STATE, trigger_value
from ..._builders.pvc import warn_of_differences
from ..._engine.api_resources import key_of
from ..._engine.conditions import RECONCILING, find_condition
from ..._engine.desired import Assessment, Event, Outcome, Requeue, Trigger
from ..._engine.reads import LATER
from ..._engine.status_builder import StatusBuilder
from ..cache_spec import named_cache
from .app import NIMCacheApp
from .claim_fate import USERS, is_record_due, may_take
from .constants import FAILED, NOT_READY, PVC_CREATED, READY, RECONCILE_FAILED
from .download_status import JOB_COMPLETED, follow_job, record_start
from .probe import PROTOCOL
from .renewal_status import forget_versions, record_first, report_versions
from .steps import PVC_AWAITED, PVC_LOST, SPEC_CHANGED, Problem, Steps, next_steps

CREATED_PVC = "NIM_CACHE_PVC_CREATED"


def assess(app: NIMCacheApp, outcome: Outcome) -> Assessment:
    """The status, events, triggers and requeue after a pass.

    While its PVC exists, a Ready cache stays Ready, even if the pass fails.
    """
    builder = StatusBuilder(dict(app.status))
    if outcome.failure:
        if outcome.is_final:
            _stall(builder, app, Problem(outcome.failure, outcome.failure_reason))
        else:
            _retry(builder, app, outcome.failure)
        return _finish(builder, app)
    steps = next_steps(app)
    builder.requeue = Requeue(slow=app.observed.get(PROTOCOL) == LATER)
    _record_steps(builder, steps, outcome)
    record_start(builder, app, steps)
    warn_of_differences(builder, app, app.spec.claim)
    if outcome.refusals:
        _retry(builder, app, "; ".join(item.message for item in outcome.refusals))
    elif steps.problem:
        _stall(builder, app, steps.problem)
    else:
        builder.recover(RECONCILE_FAILED)
        if steps.waiting:
            _wait(builder, *steps.waiting)
        elif builder.state == READY and is_terminating(app, app.spec.claim.name):
            _wait(builder, PVC_AWAITED, why_terminating(app, app.spec.claim.name))
        elif builder.state != READY:
            follow_job(builder, app.at(outcome.view(app.observed)), steps, outcome)
        else:
            report_versions(builder, app, outcome)
        record_first(builder, app, steps.adopted)
    if builder.state == READY and (may_take(app) or is_record_due(app)):
        builder.requeue = replace(builder.requeue, after=True)
    return _finish(builder, app)


def refuse(app: NIMCacheApp, error: NimError) -> Assessment:
    """The status of a cache that is too large."""
    builder = StatusBuilder(dict(app.status))
    _stall(builder, app, Problem(str(error), error.reason))
    return _finish(builder, app)


def assumed_status(app: NIMCacheApp) -> Manifest | None:
    """The status that a simulation assumes: the download will succeed. None if it is settled."""
    if app.status.get("state") in (READY, FAILED):
        return None
    return {**app.status, "state": READY, "pvc": app.spec.claim.name}


def _record_steps(builder: StatusBuilder, steps: Steps, outcome: Outcome) -> None:
    """Set the fields that do not depend on the result of the pass."""
    builder.set_field("type", steps.probe.cache_type)
    nothing_selected = steps.selection is not None and not steps.selection.selected
    builder.set_field(
        "selection", steps.selection.to_status() if steps.selection and nothing_selected else None
    )
    if steps.is_pvc_lost:
        _lose_pvc(builder, steps)
    if steps.pvc and key_of(steps.pvc) in outcome.written:
        builder.set_condition(
            CREATED_PVC, True, "PVCCreated", "The PVC has been created for caching NIM model"
        )
        builder.set_field("state", PVC_CREATED)


def _wait(builder: StatusBuilder, reason: str, message: str) -> None:
    """Report a wait; an event reports one that may need a user."""
    before = find_condition(builder.conditions, RECONCILING) or {}
    builder.reconciling = (reason, message)
    is_new = before.get("message") != message
    if is_new and reason == SPEC_CHANGED:
        builder.events.append(Event("Normal", SPEC_CHANGED, message))
    if reason != PVC_AWAITED:
        return
    if is_new:
        builder.events.append(Event("Warning", PVC_AWAITED, message))
    builder.requeue_slowly()
    if builder.state != READY:
        builder.set_field("state", NOT_READY)


def _lose_pvc(builder: StatusBuilder, steps: Steps) -> None:
    """Report that the cached model is lost with the PVC."""
    reason, message = steps.waiting or (PVC_LOST, "")
    if builder.state != NOT_READY:
        builder.events.append(Event("Warning", reason, message))
    if find_condition(builder.conditions, JOB_COMPLETED):
        builder.set_condition(JOB_COMPLETED, False, reason, message)
    builder.set_field("state", NOT_READY)
    builder.set_field("pvc", None)
    builder.set_field("profiles", None)
    forget_versions(builder)


def _retry(builder: StatusBuilder, app: NIMCacheApp, message: str) -> None:
    """Report a transient error."""
    _fail(builder, app, message)
    builder.retry(message)


def _stall(builder: StatusBuilder, app: NIMCacheApp, problem: Problem) -> None:
    """Report a problem that only a change of the cluster or the NIMCache can fix."""
    if problem.reason == "PVCNotFound":
        builder.set_field("state", NOT_READY)
    _fail(builder, app, problem.message)
    builder.stalled = (problem.reason, problem.message)
    builder.requeue = replace(builder.requeue, after=problem.is_requeued)


def _fail(builder: StatusBuilder, app: NIMCacheApp, message: str) -> None:
    builder.fail(RECONCILE_FAILED, f"NIMCache {app.name}", message)
    if builder.state != READY:
        builder.set_field("state", NOT_READY)


def _finish(builder: StatusBuilder, app: NIMCacheApp) -> Assessment:
    has_changed = builder.state != app.state
    if has_changed and not (builder.error or (builder.stalled and builder.state == NOT_READY)):
        text = f"NIMCache {app.name} reconcile success, new state: {builder.state}"
        builder.events.append(Event("Normal", builder.state, text))
    if has_changed:
        builder.triggers += _trigger_users(builder, app)
    builder.derive_ready()
    return builder.finish()


def _trigger_users(builder: StatusBuilder, app: NIMCacheApp) -> list[Trigger]:
    """The triggers for users of this cache in the namespace."""
    value = trigger_value(app.name, builder.state)
    return [
        Trigger(kind, user["metadata"]["name"], CACHE_STATE, value)
        for kind in USERS
        for user in app.listed(kind) or []
        if named_cache(user) == app.name
        and (user["metadata"].get("annotations") or {}).get(CACHE_STATE) != value
    ]
