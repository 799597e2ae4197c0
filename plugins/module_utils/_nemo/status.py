# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NeMo service, and events for status changes."""

from __future__ import annotations

from dataclasses import replace

from .._base.errors import NimError
from .._builders.expose import GATEWAY_FIELD
from .._builders.ignored_fields import ignored_events
from .._builders.pvc import claim_at_deletion, warn_of_differences
from .._builders.replicas import find_hold, report_conflict, report_hold
from .._builders.rollout import DEADLINE_REASON, Readiness, readiness_of_deployment
from .._builders.route_problems import with_routes
from .._builders.verdict import (
    NOT_READY,
    READY,
    Verdict,
    apply_verdict,
    events_of,
    is_spec_new,
    judge_outcome,
    overridden_events,
    scaled_to_zero,
    with_pods,
)
from .._builders.verdict import refuse as refuse_service
from .._engine.desired import Assessment, Outcome, Requeue
from .._engine.status_builder import StatusBuilder
from .app import PORT_API, NemoApp
from .children import find_cause, find_missing, scaling_of, selector_of

TEXT_REASON = "ConfigMapFailed"
"""Reason of the condition if a text in a user's ConfigMap is invalid."""

_PROVIDERS = {
    "HTTPRoute": f"the Gateway API, for {GATEWAY_FIELD}",
    "ServiceMonitor": "the Prometheus operator, for spec.metrics",
}
"""kind → what to install if the API server does not know it"""


def assess(app: NemoApp, outcome: Outcome) -> Assessment:
    """The whole status after a pass, whatever its result."""
    now = app.at(outcome.view(app.observed))
    verdict = judge_outcome(outcome, _PROVIDERS) or _judge(app, now)
    builder = StatusBuilder(dict(app.status), requeue_while_reconciling=False)
    apply_verdict(builder, verdict)
    builder.set_field("onDeletion", _at_deletion(now))
    if now.was_read("Service"):
        builder.set_field("endpoint", _endpoint(now))
    warn_of_differences(builder, now, now.spec.claim)
    if now.was_read("Deployment"):
        found = (now.live("Deployment") or {}).get("status") or {}
        counts = found.get("replicas"), found.get("availableReplicas")
        builder.set_replicas(*counts, selector_of(now))
    report_hold(builder, find_hold(now, scaling_of(now)))
    report_conflict(builder, scaling_of(now))
    events = events_of(f"{app.kind} {app.name}", app.status, verdict)
    if events and verdict.state == READY:
        events += overridden_events(app.overridden)
    if is_spec_new(app.resource):
        events += ignored_events(app.resource, app.ignored_fields)
    builder.events += events
    if outcome.failure_reason == TEXT_REASON:
        # No watch reports a correction of the ConfigMap, and the runtime retries a failed run with
        # back-off.
        builder.error, builder.requeue = "", Requeue(after=True)
    return replace(builder.finish(), source=f"{app.part_of}-controller")


def refuse(app: NemoApp, error: NimError) -> Assessment:
    """The status of a service whose plan is too large."""
    builder = StatusBuilder(dict(app.status), requeue_while_reconciling=False)
    refuse_service(builder, f"{app.kind} {app.name}", app.status, error)
    return replace(builder.finish(), source=f"{app.part_of}-controller")


def _judge(app: NemoApp, now: NemoApp) -> Verdict:
    """The verdict. A missing input does not stop running pods, so they stay Ready."""
    rollout = _readiness(app, now)
    missing = find_missing(app)
    if not missing:
        if not rollout.ready:
            return _rolling(now, rollout)
        return with_routes(now, now.spec.expose, Verdict(READY, READY, rollout.message))
    if not rollout.ready:
        return Verdict(
            NOT_READY,
            missing.reason,
            missing.message,
            requeue=Requeue(after=True),
            event_text="not ready yet",
        )
    return Verdict(
        READY,
        READY,
        rollout.message,
        waiting=missing.message,
        waiting_reason=missing.reason,
        requeue=Requeue(after=True),
    )


def _readiness(app: NemoApp, now: NemoApp) -> Readiness:
    """The readiness. A Ready service stays Ready through changes that do not affect its pods."""
    is_steady = app.status.get("state") == READY and _pods(app) == _pods(now)
    return readiness_of_deployment(now.live("Deployment"), is_steady=is_steady, awaits_old=True)


def _pods(app: NemoApp) -> list[object]:
    spec = (app.live("Deployment") or {}).get("spec") or {}
    return [spec.get("replicas"), spec.get("template")]


def _rolling(app: NemoApp, rollout: Readiness) -> Verdict:
    message = rollout.message
    if rollout.is_off:
        return scaled_to_zero(message)
    if rollout.awaits_pods:
        message = with_pods(app.status, message, find_cause(app))
    stalled = DEADLINE_REASON if rollout.stuck else ""
    return Verdict(
        NOT_READY,
        NOT_READY,
        message,
        stalled=stalled,
        requeue=Requeue(after=rollout.moving, wake_on_child=True),
        event_text="not ready yet",
    )


def _endpoint(app: NemoApp) -> str:
    """`<Service>.<namespace>.svc:<port>`; empty without a Service of this resource."""
    is_own = app.controls(app.live("Service"))
    return f"{app.name}.{app.namespace}.svc:{app.spec.expose.ports[PORT_API]}" if is_own else ""


def _at_deletion(app: NemoApp) -> str:
    claim = app.spec.claim
    if not claim or not claim.is_created:
        return ""
    return claim_at_deletion(app, claim.name, "its data")
