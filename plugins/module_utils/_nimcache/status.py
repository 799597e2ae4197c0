# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMCache: its states and conditions, and who is told of a change."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import (
    Condition,
    condition,
    find_condition,
    set_condition,
    set_progress,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Manifest,
    Outcome,
    Stamp,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    CACHE_STATE,
    state_note,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import key_of
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.job import BACKOFF_LIMIT
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    FAILED,
    IN_PROGRESS,
    NOT_READY,
    PENDING,
    PVC_CREATED,
    READY,
    RECONCILE_FAILED,
    STARTED,
    Resource,
    job_name,
    name_of,
    state_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.reads import USERS
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.selection import summarize
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.steps import (
    PVC_LOST,
    Problem,
    Steps,
    has_succeeded,
    job_condition,
    take_steps,
)

CLAIM_MADE = "NIM_CACHE_PVC_CREATED"
JOB_MADE = "NIM_CACHE_JOB_CREATED"
JOB_PENDING = "NIM_CACHE_JOB_PENDING"
JOB_COMPLETED = "NIM_CACHE_JOB_COMPLETED"

Progress = tuple[str, str]


@dataclass
class _Draft:
    """A status in the making."""

    status: dict[str, t.Any]
    events: list[Event] = field(default_factory=list)
    reconciling: Progress | None = None
    stalled: Progress | None = None
    is_polled: bool = False
    error: str = ""

    @property
    def state(self) -> str:
        return str(self.status.get("state") or "")

    @property
    def conditions(self) -> list[Condition]:
        return list(self.status.get("conditions") or [])

    def say(self, kind: str, status: bool, reason: str, message: str = "") -> None:
        """Set a condition; one that says the same already is left as it is."""
        new = condition(kind, status, reason, message)
        old = find_condition(self.conditions, kind)
        if old is None or any(old.get(key) != value for key, value in new.items()):
            self.status["conditions"] = set_condition(self.conditions, new)

    def put(self, key: str, value: t.Any) -> None:
        """Set a field; an empty one is left out."""
        self.status.pop(key, None)
        if value:
            self.status[key] = value


def assess(cr: Resource, observed: Observed, outcome: Outcome) -> Assessment:
    """The new status, and what else follows from a pass.

    A cache that is Ready stays so, whatever becomes of the rest, while its claim is there.
    """
    draft = _Draft(dict(cr.get("status") or {}))
    if cr["metadata"].get("deletionTimestamp"):
        return Assessment(draft.status, error=outcome.failure)
    if outcome.failure:
        _retry(draft, cr, outcome.failure)
        return _finish(draft, cr, observed)
    steps = take_steps(cr, observed)
    _note_steps(draft, steps, outcome)
    if outcome.refusals:
        _retry(draft, cr, "; ".join(item.message for item in outcome.refusals))
    elif steps.problem:
        _stall(draft, cr, steps.problem)
    else:
        _clear_failure(draft)
        if steps.waiting:
            draft.reconciling = steps.waiting
        elif draft.state != READY:
            _follow_job(draft, cr, Observed(outcome.overlay(observed.answers)), steps, outcome)
    return _finish(draft, cr, observed)


def _note_steps(draft: _Draft, steps: Steps, outcome: Outcome) -> None:
    """What holds whether or not the pass went well."""
    draft.put("type", steps.probe.cache_type)
    nothing_selected = steps.selection is not None and not steps.selection.selected
    draft.put(
        "selection", steps.selection.to_status() if steps.selection and nothing_selected else None
    )
    if steps.is_claim_lost:
        _lose_claim(draft, steps)
    if steps.claim and key_of(steps.claim) in outcome.written:
        draft.say(CLAIM_MADE, True, "PVCCreated", "The PVC has been created for caching NIM model")
        draft.put("state", PVC_CREATED)


def _lose_claim(draft: _Draft, steps: Steps) -> None:
    """What was cached went with the claim."""
    reason, message = steps.waiting or (PVC_LOST, "")
    if draft.state != NOT_READY:
        draft.events.append(Event("Warning", reason, message))
    if find_condition(draft.conditions, JOB_COMPLETED):
        draft.say(JOB_COMPLETED, False, reason, message)
    draft.put("state", NOT_READY)
    draft.put("pvc", None)
    draft.put("profiles", None)


def _retry(draft: _Draft, cr: Resource, message: str) -> None:
    """An error that may pass: the run fails, so that the runtime tries again."""
    _fail(draft, cr, message)
    draft.reconciling = ("Retrying", message)
    draft.error = message


def _stall(draft: _Draft, cr: Resource, problem: Problem) -> None:
    """A problem that only a change of the cluster or of the NIMCache ends."""
    if problem.reason == "PVCNotFound":
        draft.put("state", NOT_READY)
    _fail(draft, cr, problem.message)
    draft.stalled = (problem.reason, problem.message)
    draft.is_polled = problem.is_polled


def _fail(draft: _Draft, cr: Resource, message: str) -> None:
    old = find_condition(draft.conditions, RECONCILE_FAILED) or {}
    if (old.get("status"), old.get("message")) != ("True", message):
        text = f"NIMCache {name_of(cr)} reconcile failed, msg: {message}"
        draft.events.append(Event("Warning", "ReconcileFailed", text))
    draft.say(RECONCILE_FAILED, True, "ReconcileFailed", message)
    if draft.state != READY:
        draft.put("state", NOT_READY)


def _clear_failure(draft: _Draft) -> None:
    if find_condition(draft.conditions, RECONCILE_FAILED):
        draft.say(RECONCILE_FAILED, False, "Reconciled")


def _follow_job(draft: _Draft, cr: Resource, now: Observed, steps: Steps, outcome: Outcome) -> None:
    """The state that the Job is in; the first rule that holds decides."""
    job = now.object("Job", job_name(cr))
    if job is None:
        draft.reconciling = ("CreatingJob", f"Job {job_name(cr)} is to be created")
        return
    is_new = steps.job is not None and key_of(steps.job) in outcome.written
    if is_new or not find_condition(draft.conditions, JOB_MADE):
        draft.say(JOB_MADE, True, "JobCreated", "The Job to cache NIM has been created")
    if is_new:
        _start(draft, steps)
    elif has_succeeded(job):
        _complete(draft, cr, steps)
    elif job_condition(job, "Failed"):
        _give_up(draft, job)
    else:
        _progress(draft, job)


def _start(draft: _Draft, steps: Steps) -> None:
    if steps.selection:
        draft.events.append(Event("Normal", "ProfilesSelected", summarize(steps.selection)))
    draft.put("state", STARTED)
    draft.put("profiles", None)
    draft.reconciling = ("JobCreated", "The Job to cache NIM has been created")


def _complete(draft: _Draft, cr: Resource, steps: Steps) -> None:
    draft.say(
        JOB_COMPLETED, True, "JobCompleted", "The Job to cache NIM has successfully completed"
    )
    draft.put("state", READY)
    draft.put("pvc", claim_name(cr))
    draft.put("profiles", [profile.to_status() for profile in steps.cached])


def _give_up(draft: _Draft, job: Manifest) -> None:
    draft.say(JOB_COMPLETED, False, "JobFailed", "The Job to cache NIM has failed")
    draft.put("state", FAILED)
    draft.put("profiles", None)
    why = job_condition(job, "Failed").get("message") or "it gave no reason"
    draft.stalled = (
        "JobFailed",
        f"Job {job['metadata']['name']} failed: {why}; see the logs of its pods. It is tried again"
        " when the Job is gone",
    )


def _progress(draft: _Draft, job: Manifest) -> None:
    """A pod that failed is not the end: the Job tries again, several times."""
    status = job.get("status") or {}
    failed = int(status.get("failed") or 0)
    draft.put("profiles", None)
    if status.get("active") or failed:
        limit = job["spec"].get("backoffLimit", BACKOFF_LIMIT)
        tries = f" ({failed} of {limit + 1} attempts failed)" if failed else ""
        progress = ("JobRunning", f"The Job to cache NIM is in progress{tries}")
        draft.say(JOB_PENDING, False, *progress)
        draft.put("state", IN_PROGRESS)
    else:
        progress = ("JobPending", "The Job to cache NIM is in pending state")
        draft.say(JOB_PENDING, True, *progress)
        draft.put("state", PENDING)
    draft.reconciling = progress


def _finish(draft: _Draft, cr: Resource, observed: Observed) -> Assessment:
    has_changed = draft.state != state_of(cr)
    if has_changed and not (draft.error or (draft.stalled and draft.state == NOT_READY)):
        text = f"NIMCache {name_of(cr)} reconcile success, new state: {draft.state}"
        draft.events.append(Event("Normal", draft.state, text))
    conditions = set_progress(
        draft.conditions, reconciling=draft.reconciling, stalled=draft.stalled
    )
    return Assessment(
        status=draft.status | {"conditions": conditions},
        events=draft.events,
        stamps=_wake_users(draft, cr, observed) if has_changed else [],
        in_transit=draft.reconciling is not None or draft.is_polled,
        error=draft.error,
    )


def _wake_users(draft: _Draft, cr: Resource, observed: Observed) -> list[Stamp]:
    """The NIMServices of the namespace that use this cache; no watch tells them of its state."""
    value = state_note(name_of(cr), draft.state)
    return [
        Stamp(USERS, service["metadata"]["name"], CACHE_STATE, value)
        for service in observed.get(USERS) or []
        if _uses(service, cr)
        and (service["metadata"].get("annotations") or {}).get(CACHE_STATE) != value
    ]


def _uses(service: Manifest, cr: Resource) -> bool:
    cache = ((service.get("spec") or {}).get("storage") or {}).get("nimCache") or {}
    return bool(cache.get("name") == name_of(cr))
