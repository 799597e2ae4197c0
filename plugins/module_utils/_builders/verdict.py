# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a service, and its report in status and events."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .._base.errors import NimError
from .._base.types import Fields
from .._engine.conditions import find_condition
from .._engine.created_once import has_spec_changed
from .._engine.desired import NO_REQUEUE, Event, Outcome, Refusal, Requeue
from .._engine.status_builder import StatusBuilder
from .quota_advice import quota_advice

READY, NOT_READY, FAILED = "Ready", "NotReady", "Failed"
SCALED_TO_ZERO = "ScaledToZero"
"""The reason of a service that is off: it waits for nothing."""

_REASONS = {"HorizontalPodAutoscaler": "HPAFailed", "InferenceService": "DeploymentFailed"}
_DEFAULT_REASON = "{kind}Failed"
_OTHERS = ("PersistentVolumeClaim",)
"""Kinds whose refusal has the reason `Failed`."""


@dataclass(frozen=True)
class Verdict:
    """The state of a service.

    ``fields``: status fields to set. ``waiting``: pending work that the state does not show, and
    ``waiting_reason`` its reason. ``stalled``: the reason why nothing will change without a user.
    ``event_text``: the start of the NotReady event's text.
    """

    state: str
    reason: str
    message: str
    fields: Fields = field(default_factory=dict)
    waiting: str = ""
    waiting_reason: str = NOT_READY
    stalled: str = ""
    requeue: Requeue = NO_REQUEUE
    error: str = ""
    event_text: str = "not ready"


def failed(reason: str, message: str, error: str = "") -> Verdict:
    """The verdict of a failure; with an ``error``, the run fails, so that the runtime retries."""
    return Verdict(FAILED, reason, message, stalled=reason, error=error)


def scaled_to_zero(message: str) -> Verdict:
    """The verdict of a service without wanted pods."""
    return Verdict(NOT_READY, SCALED_TO_ZERO, message)


def judge_outcome(outcome: Outcome, providers: t.Mapping[str, str]) -> Verdict | None:
    """The verdict of a failed pass or a refused write; otherwise None.

    ``providers``: kind → the software to install if the API server does not serve the kind.
    """
    if outcome.failure:
        error = "" if outcome.is_final else outcome.failure
        return failed(outcome.failure_reason, outcome.failure, error=error)
    if not outcome.refusals:
        return None
    message = "; ".join(
        f'{item.kind} "{item.name}": {_explain(item, providers)}' for item in outcome.refusals
    )
    return failed(reason_of(outcome.refusals[0].kind), message, error=message)


def reason_of(kind: str) -> str:
    """The reason of the condition for a refused child of this kind."""
    if kind in _OTHERS:
        return FAILED
    return _REASONS.get(kind) or _DEFAULT_REASON.format(kind=kind)


def _explain(refusal: Refusal, providers: t.Mapping[str, str]) -> str:
    """The API server's message, with advice if it does not serve the kind or a field of it."""
    provider = providers.get(refusal.kind)
    if provider and refusal.message.startswith("no matches for kind "):
        return f"{refusal.message}: install {provider}"
    if provider and "field not declared in schema" in refusal.message:
        return f"{refusal.message}: its release on this cluster is too old, upgrade {provider}"
    return f"{refusal.message}{quota_advice(refusal.message)}"


def with_pods(status: Fields, message: str, why: str) -> str:
    """The message about a rollout, with the problems of its pods.

    The former message stays if it is the same with more detail: before Kubernetes 1.32, the kubelet
    reports the cause of a failed pull only at each attempt.
    """
    if not why:
        return message
    text = f"{message}{why}" if message[-1:] in ("", "\n") else f"{message}: {why}"
    former = find_condition(status.get("conditions"), READY) or {}
    detailed = str(former.get("message") or "")
    return detailed if detailed.startswith(f"{text}: ") else text


def apply_verdict(builder: StatusBuilder, verdict: Verdict) -> None:
    """Set the state, Ready and Failed, which are always both present, and the kstatus pair."""
    builder.set_field("state", verdict.state)
    if verdict.state == FAILED:
        builder.set_condition(READY, False, FAILED)
        builder.set_condition(FAILED, True, verdict.reason, verdict.message)
    else:
        is_ready = verdict.state == READY
        builder.set_condition(READY, is_ready, verdict.reason, verdict.message)
        builder.set_condition(FAILED, False, READY, "" if is_ready else verdict.message)
    text = verdict.waiting or verdict.message
    if verdict.stalled:
        builder.stalled = (verdict.stalled, text)
    elif verdict.waiting or (verdict.state == NOT_READY and verdict.reason != SCALED_TO_ZERO):
        reason = verdict.waiting_reason if verdict.waiting else verdict.reason
        builder.reconciling = (reason, text)
    for name, value in verdict.fields.items():
        builder.set_field(name, value)
    builder.requeue = verdict.requeue
    builder.error = verdict.error


def refuse(builder: StatusBuilder, subject: str, status: Fields, error: NimError) -> Verdict:
    """Report why a resource is not reconciled; other fields of the status stay."""
    verdict = failed(error.reason, str(error))
    apply_verdict(builder, verdict)
    builder.events += events_of(subject, status, verdict)
    return verdict


def events_of(subject: str, status: Fields, verdict: Verdict) -> list[Event]:
    """Events for changes since ``status`` was written; none if nothing changed."""
    if not _is_transition(status, verdict):
        return []
    if verdict.error:
        text = f"{subject} failed, msg: {verdict.message}"
        return [Event("Warning", FAILED, text), Event("Warning", "ReconcileFailed", text)]
    if verdict.state == FAILED:
        return [Event("Warning", FAILED, verdict.message)]
    if verdict.state == READY:
        return [Event("Normal", READY, f"{subject} ready, msg: {verdict.message}")]
    return [Event("Normal", NOT_READY, f"{subject} {verdict.event_text}, msg: {verdict.message}")]


def is_spec_new(cr: Fields) -> bool:
    """Whether no pass has reported on the spec of this custom resource yet."""
    return not (cr.get("status") or {}).get("state") or has_spec_changed(cr)


def overridden_events(paths: t.Sequence[str]) -> list[Event]:
    """A warning about values of the spec that the operator's own replace."""
    text = f"the operator's own values replace {', '.join(paths)}"
    return [Event("Warning", "Ignored", text)] if paths else []


def _is_transition(previous: Fields, verdict: Verdict) -> bool:
    """Whether the state or reason changed, or for a failure the message."""
    kind = FAILED if verdict.state == FAILED else READY
    before = find_condition(previous.get("conditions"), kind) or {}
    was: list[t.Any] = [previous.get("state"), before.get("reason")]
    now: list[t.Any] = [verdict.state, verdict.reason]
    if verdict.state == FAILED:
        was, now = [*was, before.get("message")], [*now, verdict.message]
    return was != now
