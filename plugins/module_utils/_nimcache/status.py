# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMCache: its states and conditions, and who is told of a change."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Manifest,
    Outcome,
    Stamp,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.draft import Draft
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    INPUT_TAG,
    list_profiles,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    CACHE_STATE,
    state_note,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    LATER,
    Observed,
)
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
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe import PROTOCOL
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


def assess(cr: Resource, observed: Observed, outcome: Outcome) -> Assessment:
    """The new status, and what else follows from a pass.

    A cache that is Ready stays so, whatever becomes of the rest, while its claim is there.
    """
    draft = Draft(dict(cr.get("status") or {}))
    if cr["metadata"].get("deletionTimestamp"):
        return Assessment(draft.status, error=outcome.failure)
    if outcome.failure:
        if outcome.is_final:
            _stall(draft, cr, Problem(outcome.failure, outcome.failure_reason))
        else:
            _retry(draft, cr, outcome.failure)
        return _finish(draft, cr, observed)
    steps = take_steps(cr, observed)
    draft.is_seldom = observed.get(PROTOCOL) == LATER
    _note_steps(draft, steps, outcome)
    if outcome.refusals:
        _retry(draft, cr, "; ".join(item.message for item in outcome.refusals))
    elif steps.problem:
        _stall(draft, cr, steps.problem)
    else:
        draft.recover(RECONCILE_FAILED)
        if steps.waiting:
            draft.reconciling = steps.waiting
        elif draft.state != READY:
            _follow_job(draft, cr, Observed(outcome.overlay(observed.answers)), steps, outcome)
    return _finish(draft, cr, observed)


def _note_steps(draft: Draft, steps: Steps, outcome: Outcome) -> None:
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


def _lose_claim(draft: Draft, steps: Steps) -> None:
    """What was cached went with the claim."""
    reason, message = steps.waiting or (PVC_LOST, "")
    if draft.state != NOT_READY:
        draft.events.append(Event("Warning", reason, message))
    if find_condition(draft.conditions, JOB_COMPLETED):
        draft.say(JOB_COMPLETED, False, reason, message)
    draft.put("state", NOT_READY)
    draft.put("pvc", None)
    draft.put("profiles", None)


def _retry(draft: Draft, cr: Resource, message: str) -> None:
    """An error that may pass."""
    _fail(draft, cr, message)
    draft.retry(message)


def _stall(draft: Draft, cr: Resource, problem: Problem) -> None:
    """A problem that only a change of the cluster or of the NIMCache ends."""
    if problem.reason == "PVCNotFound":
        draft.put("state", NOT_READY)
    _fail(draft, cr, problem.message)
    draft.stalled = (problem.reason, problem.message)
    draft.is_polled = problem.is_polled


def _fail(draft: Draft, cr: Resource, message: str) -> None:
    draft.fail(RECONCILE_FAILED, f"NIMCache {name_of(cr)}", message)
    if draft.state != READY:
        draft.put("state", NOT_READY)


def _follow_job(draft: Draft, cr: Resource, now: Observed, steps: Steps, outcome: Outcome) -> None:
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


def _start(draft: Draft, steps: Steps) -> None:
    if steps.selection:
        draft.events.append(Event("Normal", "ProfilesSelected", summarize(steps.selection)))
    draft.put("state", STARTED)
    _keep_built(draft)
    draft.reconciling = ("JobCreated", "The Job to cache NIM has been created")


def _complete(draft: Draft, cr: Resource, steps: Steps) -> None:
    listed = list_profiles(steps.cached)
    message = "The Job to cache NIM has successfully completed"
    if len(listed) < len(steps.cached):
        counts = f"{len(listed)} of {len(steps.cached)}"
        message += f"; status.profiles has room for the first {counts} profiles"
    draft.say(JOB_COMPLETED, True, "JobCompleted", message)
    draft.put("state", READY)
    draft.put("pvc", claim_name(cr))
    _keep_built(draft, listed)


def _keep_built(draft: Draft, cached: t.Sequence[Manifest] = ()) -> None:
    """The profiles that were cached, and those that were built into the claim, which stay there."""
    names = {profile["name"] for profile in cached}
    built = [
        profile
        for profile in draft.status.get("profiles") or []
        if INPUT_TAG in (profile.get("config") or {}) and profile["name"] not in names
    ]
    draft.put("profiles", [*cached, *built])


def _give_up(draft: Draft, job: Manifest) -> None:
    draft.say(JOB_COMPLETED, False, "JobFailed", "The Job to cache NIM has failed")
    draft.put("state", FAILED)
    _keep_built(draft)
    why = job_condition(job, "Failed").get("message") or "it gave no reason"
    draft.stalled = (
        "JobFailed",
        f"Job {job['metadata']['name']} failed: {why}; see the logs of its pods. It is tried again"
        " when the Job is gone",
    )


def _progress(draft: Draft, job: Manifest) -> None:
    """A pod that failed is not the end: the Job tries again, several times."""
    status = job.get("status") or {}
    failed = int(status.get("failed") or 0)
    _keep_built(draft)
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


def _finish(draft: Draft, cr: Resource, observed: Observed) -> Assessment:
    has_changed = draft.state != state_of(cr)
    if has_changed and not (draft.error or (draft.stalled and draft.state == NOT_READY)):
        text = f"NIMCache {name_of(cr)} reconcile success, new state: {draft.state}"
        draft.events.append(Event("Normal", draft.state, text))
    if has_changed:
        draft.stamps += _wake_users(draft, cr, observed)
    return draft.finish()


def _wake_users(draft: Draft, cr: Resource, observed: Observed) -> list[Stamp]:
    """What uses this cache in the namespace."""
    value = state_note(name_of(cr), draft.state)
    return [
        Stamp(kind, user["metadata"]["name"], CACHE_STATE, value)
        for kind in USERS
        for user in observed.get(kind) or []
        if _uses(user, cr) and (user["metadata"].get("annotations") or {}).get(CACHE_STATE) != value
    ]


def _uses(user: Manifest, cr: Resource) -> bool:
    """A NIMService names its cache below `storage`, a NIMBuild right in the spec."""
    spec = user.get("spec") or {}
    cache = spec.get("nimCache") or (spec.get("storage") or {}).get("nimCache") or {}
    return bool(cache.get("name") == name_of(cr))
