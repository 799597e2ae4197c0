# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The four steps of a reconcile: observe, plan, write, report.

`_engine/reconcile.py` runs them in sequence. A role runs each in its own task.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from datetime import datetime

from .._base.errors import NAME_TAKEN, ApiError, NimError
from .._base.types import Json
from .adjust import Adjust, adjust_children
from .competing_operator import report_competing_operator
from .desired import Assessment, Desired, Event, Outcome, Requeue
from .kind import AnyKind
from .metadata import is_deleted
from .observed import OPERATOR, Observed
from .oversized import find_excess, without_spec
from .pause import is_paused, keep_last_pass, pause, resume
from .plan import Plan, compare
from .plan_size import refuse_large
from .reads import Read
from .served_schema import report_dropped_fields, served_schema, without_dropped
from .status import requeue_period, stored_status, wake_period

_CONFLICT_TRIES = 4
_AFTER_RACE = "1s"
_FOLLOW = "30s"


class Cluster(t.Protocol):
    """The cluster of a pass. Every method may raise `ApiError`."""

    slow_period: int
    """Minimum seconds before the next pass when passes are slow."""
    adjust: Adjust | None
    """Changes each child before the comparison with the live object."""
    is_new: bool
    """Whether children are assumed absent without reading them, because the resource has never been
    reconciled."""

    def settings(self) -> Json:
        """The operator's configuration: version, namespace, switches."""

    def prefetch(self, reads: t.Sequence[Read]) -> None:
        """Prepare for these reads, where several answers can be had at once."""

    def answer(self, read: Read) -> t.Any:
        """The answer to a read, as documented on `Read`."""

    def write(self, plan: Plan) -> Outcome:
        """Execute a plan; a refused write does not stop the rest."""

    def write_status(self, resource: Json, status: Json, assessment: Assessment) -> bool:
        """Write a status onto the version of the resource that it was computed from.

        Also writes events and, after the status, the triggers and status patches for other
        resources. Returns whether the status changed. ApiError 409 if there is a newer version, 404
        if the resource is gone; the events may be written in both cases.
        """

    def refetch(self, resource: Json) -> Json | None:
        """The resource with its latest status; None if it is gone."""

    def watches_child(self, child: Json) -> bool:
        """Whether status changes of a newly written child trigger a pass."""

    def now(self) -> datetime:
        """The current time."""


@dataclass(frozen=True)
class Report:
    """``period``: when to reconcile next (a Go duration); empty for the default.

    ``gauges``: numbers that the operator serves as metrics.
    """

    changed: bool
    status: Json
    error: str
    period: str
    gauges: t.Mapping[str, int] = field(default_factory=dict)


EMPTY_REPORT = Report(changed=False, status={}, error="", period="")
"""The report when the custom resource was deleted during the pass."""


def observe(kind: AnyKind, resource: Json, cluster: Cluster) -> Json:
    """All answers that the kind needs for this resource, by key."""
    answers: Json = {OPERATOR: cluster.settings()}
    subject = _subject_of(resource)
    if subject and not _is_over(kind, resource) and not is_paused(resource):
        app = kind.app(subject, Observed(answers))
        while new := {key: read for read in kind.reads(app) if (key := read.key) not in answers}:
            # Answers from the cache decide which others are needed, which are then read at once.
            first = {key: read for key, read in new.items() if not read.is_past_cache} or new
            cluster.prefetch(list(first.values()))
            for key, read in first.items():
                answers[key] = cluster.answer(read)
        if kind.checks_crd:
            schema = served_schema(kind)
            answers[schema.key] = cluster.answer(schema)
    return answers


def plan(
    kind: AnyKind, resource: Json, observed: Observed, adjust: Adjust | None = None
) -> tuple[Desired, Plan]:
    """The desired objects of a resource, and the plan to reach them.

    A spec that cannot be served is a failure in the plan, not an exception. Nothing of a plan that
    is too large is written. ``adjust``: see `_engine/adjust.py`.
    """
    failure: NimError | None = None
    wanted, found = Desired(), Plan()
    try:
        wanted = _desired_of(kind, resource, observed)
        if adjust:
            wanted = adjust_children(wanted, resource, adjust)
        found, failure = compare(resource, wanted, observed), wanted.failure
        refuse_large(resource, found)
    except NimError as error:
        wanted, found, failure = Desired(), Plan(), error
    if failure:
        found.failure, found.failure_reason = str(failure), failure.reason
    if not wanted.are_independent:
        _fail_for_names(found)
    return wanted, found


def _fail_for_names(found: Plan) -> None:
    """Make the plan fail if names are taken by other owners, in addition to any other failure."""
    if any(refusal.reason for refusal in found.refusals):
        others = [found.failure] if found.failure else []
        texts = dict.fromkeys([*(refusal.message for refusal in found.refusals), *others])
        found.failure, found.failure_reason = "; ".join(texts), NAME_TAKEN


def write(found: Plan, cluster: Cluster) -> Outcome:
    """Execute a plan; a refused write does not stop the rest. Raises ApiError."""
    return cluster.write(found)


def report(
    kind: AnyKind, resource: Json, answers: Json, outcome: Outcome, cluster: Cluster
) -> Report:
    """Assess and report; only the last events of a deleted resource. Raises ApiError.

    Repeats the assessment if the resource has changed since it was read.
    """
    if is_deleted(resource):
        error = _report_deletion(kind, resource, Observed(answers), outcome, cluster)
        return Report(changed=False, status={}, error=error, period="")
    now, excess = cluster.now(), find_excess(resource)
    sent: list[Event] = []
    for attempt in range(_CONFLICT_TRIES):
        observed = Observed(answers)
        assessment, status = _report_of(kind, resource, observed, outcome, excess, now)
        stored = without_dropped(kind, answers, status)
        new = [event for event in assessment.events if event not in sent]
        try:
            changed = cluster.write_status(resource, stored, replace(assessment, events=new))
            break
        except ApiError as error:
            if error.status == 404:
                return EMPTY_REPORT
            if error.status != 409 or attempt == _CONFLICT_TRIES - 1:
                raise
        sent += new
        newest = cluster.refetch(resource)
        if newest is None:
            return EMPTY_REPORT
        resource = newest
    requeue = assessment.requeue
    if not Observed(answers).has_child_events:
        requeue = replace(requeue, wake_on_child=False)
    period = _period((resource, status, now), requeue, outcome, cluster)
    return Report(changed, stored, assessment.error, period, assessment.gauges)


def _report_deletion(
    kind: AnyKind, resource: Json, observed: Observed, outcome: Outcome, cluster: Cluster
) -> str:
    """Report the last events of a resource that is being deleted; returns the error."""
    subject = _subject_of(resource)
    if not kind.assess_deletion or not subject or outcome.failure:
        return outcome.failure
    assessment = kind.assess_deletion(kind.app(subject, observed), outcome)
    if assessment.events:
        cluster.write_status(resource, resource.get("status") or {}, assessment)
    return assessment.error


def _report_of(
    kind: AnyKind,
    resource: Json,
    observed: Observed,
    outcome: Outcome,
    excess: NimError | None,
    now: datetime,
) -> tuple[Assessment, Json]:
    """The assessment, and the status to store."""
    version = observed.operator_version
    if is_paused(resource):
        assessment = pause(resource, kind.first_state)
        return assessment, keep_last_pass(
            resource, stored_status(resource, assessment, now, version)
        )
    assessment = _assess(kind, kind.app(resource, observed), outcome, excess)
    answers = observed.answers
    assessment = report_competing_operator(resource, answers, resume(assessment), now)
    status = stored_status(resource, assessment, now, version)
    if kind.checks_crd:
        assessment = report_dropped_fields(kind, resource, answers, assessment, status)
        status = stored_status(resource, assessment, now, version)
    return assessment, status


def _assess(kind: AnyKind, app: t.Any, outcome: Outcome, excess: NimError | None) -> Assessment:
    if not excess:
        return kind.assess(app, outcome)
    if kind.refuse:
        return kind.refuse(app, excess)
    return kind.assess(app, Outcome(failure=str(excess), failure_reason=excess.reason))


def _period(
    known: tuple[Json, Json, datetime], requeue: Requeue, outcome: Outcome, cluster: Cluster
) -> str:
    """The requeue period of a resource with this new status; empty for the default."""
    if outcome.raced:
        return _AFTER_RACE
    if outcome.is_contested:
        return requeue_period(*known, at_least=cluster.slow_period)
    if not requeue.after:
        return ""
    if requeue.follow:
        return _FOLLOW
    if requeue.wake_on_child:
        return wake_period(*known, is_watched=_is_woken(outcome, cluster))
    at_least = cluster.slow_period if requeue.slow else None
    return requeue_period(*known, at_least=at_least)


def _is_woken(outcome: Outcome, cluster: Cluster) -> bool:
    """Whether a change of the workload, the last written child, triggers a pass."""
    return not outcome.written or cluster.watches_child(list(outcome.written.values())[-1])


def _is_over(kind: AnyKind, resource: Json) -> bool:
    """Whether the garbage collector does all that remains to do."""
    return is_deleted(resource) and kind.finalize is None


def _subject_of(resource: Json) -> Json | None:
    """The resource to read for; None if it is too large.

    Finalization needs no spec.
    """
    if not find_excess(resource):
        return resource
    return without_spec(resource) if is_deleted(resource) else None


def _desired_of(kind: AnyKind, resource: Json, observed: Observed) -> Desired:
    if _is_over(kind, resource) or is_paused(resource):
        return Desired()
    excess = find_excess(resource)
    if kind.finalize and is_deleted(resource):
        subject = without_spec(resource) if excess else resource
        return kind.finalize(kind.app(subject, observed))
    if excess:
        raise excess
    return kind.desired(kind.app(resource, observed))
