# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMBuild: its states and conditions."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Outcome,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.draft import Draft, Progress
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.names import (
    CACHE_AWAITED,
    CACHE_FAILED,
    CACHE_NOT_FOUND,
    FAILED,
    IN_PROGRESS,
    MANIFEST_READ,
    NO_PROFILE,
    ONE_PROFILE,
    PENDING,
    POD_COMPLETED,
    POD_MADE,
    POD_PENDING,
    READY,
    RECONCILE_FAILED,
    SEVERAL_PROFILES,
    Resource,
    build_pod_name,
    cache_name,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimbuild.steps import (
    NO_ENGINE,
    Stage,
    Step,
    take_step,
)

_INPUT, _OUTPUT = "inputProfile", "outputProfile"
_OF_CACHE = (CACHE_NOT_FOUND, CACHE_FAILED, CACHE_AWAITED)
_OF_PROFILES = (NO_PROFILE, SEVERAL_PROFILES, ONE_PROFILE)
"""Of each of these, one holds: the others are taken away."""


def assess(cr: Resource, observed: Observed, outcome: Outcome) -> Assessment:
    """The new status, and what else follows from a pass."""
    if cr["metadata"].get("deletionTimestamp"):
        return Assessment(dict(cr.get("status") or {}), error=outcome.failure)
    draft = Draft({_INPUT: {}, _OUTPUT: {}, **(cr.get("status") or {})})
    step = take_step(cr, observed)
    if outcome.failure or outcome.refusals:
        _retry(draft, cr, outcome)
        return _finish(draft, cr)
    if not step.stage.startswith("cache "):
        draft.unsay(*_OF_CACHE)
    if step.problem:
        _stall(draft, cr, step.problem)
    else:
        draft.recover(RECONCILE_FAILED)
        _TELLERS[step.stage](draft, cr, step)
    return _finish(draft, cr)


def _retry(draft: Draft, cr: Resource, outcome: Outcome) -> None:
    """An error that may pass; what is Ready stays so."""
    message = outcome.failure or "; ".join(item.message for item in outcome.refusals)
    draft.fail(RECONCILE_FAILED, f"NIMBuild {name_of(cr)}", message)
    if draft.state != READY:
        draft.put("state", PENDING)
    draft.retry(message)


def _stall(draft: Draft, cr: Resource, problem: NimError) -> None:
    """A problem that does not pass by itself, though somebody may do away with it."""
    draft.fail(RECONCILE_FAILED, f"NIMBuild {name_of(cr)}", str(problem))
    draft.put("state", FAILED if problem.reason == NO_ENGINE else PENDING)
    _stop(draft, problem.reason, str(problem))


def _stop(draft: Draft, reason: str, message: str) -> None:
    draft.stalled = (reason, message)
    draft.is_polled = True


def _choose(draft: Draft, kinds: t.Sequence[str], kind: str, reason: str, message: str) -> None:
    """Say one condition of several of which one holds."""
    draft.unsay(*(other for other in kinds if other != kind))
    draft.say(kind, True, reason, message)


def _without_cache(draft: Draft, cr: Resource, _step: Step) -> None:
    reason = "NIMCacheNotFound"
    _choose(draft, _OF_CACHE, CACHE_NOT_FOUND, reason, "Not able to get NIMCache for NIMBuild")
    draft.put("state", FAILED)
    _stop(draft, reason, f"NIMCache {cache_name(cr)} not found")


def _with_failed_cache(draft: Draft, cr: Resource, _step: Step) -> None:
    reason = "NIMCacheFailed"
    message = "NIMCache is failed. NIMBuild can not progress"
    _choose(draft, _OF_CACHE, CACHE_FAILED, reason, message)
    draft.put("state", FAILED)
    _stop(draft, reason, f"NIMCache {cache_name(cr)} failed: see its conditions")


def _await_cache(draft: Draft, cr: Resource, _step: Step) -> None:
    reason = "NIMCacheNotReady"
    message = "Waiting for NIMCache to be ready before building engines"
    _choose(draft, _OF_CACHE, CACHE_AWAITED, reason, message)
    draft.put("state", PENDING)
    draft.reconciling = (reason, f"NIMCache {cache_name(cr)} not ready")


def _without_volume(draft: Draft, cr: Resource, step: Step) -> None:
    """The engine, or what there was of it, went with the volume."""
    draft.unsay(POD_MADE, POD_PENDING, POD_COMPLETED)
    _wait(draft, cr, step)


def _wait(draft: Draft, _cr: Resource, step: Step) -> None:
    draft.put("state", PENDING)
    draft.reconciling = step.waiting


def _without_profile(draft: Draft, cr: Resource, _step: Step) -> None:
    reason, message = "NoBuildableProfilesFound", "No buildable profiles found for NIM Cache"
    if _names_profile(cr):
        message = "No buildable profiles found, please select a valid profile from the NIM cache"
    _fail_for_profiles(draft, NO_PROFILE, reason, message)


def _with_several_profiles(draft: Draft, _cr: Resource, _step: Step) -> None:
    message = "Multiple buildable profiles found in NIM Cache, please select one profile to build"
    _fail_for_profiles(draft, SEVERAL_PROFILES, "MultipleBuildableProfilesFound", message)


def _fail_for_profiles(draft: Draft, kind: str, reason: str, message: str) -> None:
    _choose(draft, _OF_PROFILES, kind, reason, message)
    draft.put("state", FAILED)
    _stop(draft, reason, message)


def _names_profile(cr: Resource) -> bool:
    return bool(cr["spec"]["nimCache"].get("profile"))


def _start(draft: Draft, cr: Resource, step: Step) -> None:
    """The pod was made in this pass, perhaps not for the first time."""
    made, done = (find_condition(draft.conditions, kind) for kind in (POD_MADE, POD_COMPLETED))
    if made and not done:
        text = f"Pod {build_pod_name(cr)} was gone before the engine was built: it is built anew"
        draft.events.append(Event("Warning", "EngineBuildPodLost", text))
    message = "Single buildable profile cached in NIM Cache"
    if _names_profile(cr):
        message = "Single buildable profile found"
    _choose(draft, _OF_PROFILES, ONE_PROFILE, "BuildableProfileFound", message)
    draft.unsay(POD_PENDING, POD_COMPLETED)
    draft.status[_INPUT] = {}
    _note_pod(draft, step)
    draft.put("state", IN_PROGRESS)
    draft.reconciling = _POD_CREATED


def _note_pod(draft: Draft, step: Step) -> None:
    """What holds of each pod that is there, whoever made it and whatever was written then."""
    draft.say(POD_MADE, True, *_POD_CREATED)
    if step.profile and not draft.status[_INPUT]:
        draft.status[_INPUT] = dict(step.profile)


def _build(draft: Draft, _cr: Resource, step: Step) -> None:
    _note_pod(draft, step)
    draft.say(POD_PENDING, True, "PodRunning", "The Pod to build engine is in progress")
    draft.put("state", IN_PROGRESS)
    draft.reconciling = step.waiting


def _complete(draft: Draft, _cr: Resource, step: Step) -> None:
    """Stored before the pod goes: it is the next pass that deletes it."""
    _note_pod(draft, step)
    said = ("PodReady", "The Pod to build engine has successfully completed")
    draft.say(POD_COMPLETED, True, *said)
    draft.put("state", IN_PROGRESS)
    draft.reconciling = said


def _give_up(draft: Draft, _cr: Resource, step: Step) -> None:
    _note_pod(draft, step)
    draft.say(POD_COMPLETED, False, "PodFailed", "The pod to build engine has failed")
    draft.put("state", FAILED)
    _stop(draft, *t.cast(Progress, step.waiting))


def _read(draft: Draft, _cr: Resource, step: Step) -> None:
    draft.put("state", IN_PROGRESS)
    draft.reconciling = step.waiting


def _end(draft: Draft, cr: Resource, step: Step) -> None:
    """All is over once the cache is seen to list the profile; the next pass deletes the pod."""
    draft.status[_OUTPUT] = step.built.to_status() if step.built else {}
    if step.listing:
        draft.patches.append(step.listing)
        message = f"NIMCache {cache_name(cr)} is to list the profile that was built"
        draft.put("state", IN_PROGRESS)
        draft.reconciling = ("ListingProfile", message)
        return
    message = "The Pod to read local model manifest is completed"
    draft.say(MANIFEST_READ, True, "PodCompleted", message)
    draft.put("state", READY)
    draft.is_polled = True


def _rest(draft: Draft, _cr: Resource, _step: Step) -> None:
    draft.put("state", READY)


_POD_CREATED = ("EngineBuildPodCreated", "The pod to build engine has been created")
_TELLERS: dict[Stage, t.Callable[[Draft, Resource, Step], None]] = {
    "cache missing": _without_cache,
    "cache failed": _with_failed_cache,
    "cache awaited": _await_cache,
    "volume lost": _without_volume,
    "no profile": _without_profile,
    "several profiles": _with_several_profiles,
    "waiting": _wait,
    "to build": _start,
    "building": _build,
    "build failed": _give_up,
    "built": _complete,
    "reading": _read,
    "read": _end,
    "finished": _rest,
}


def _finish(draft: Draft, cr: Resource) -> Assessment:
    """An event tells of a new state, unless one has told why already."""
    if draft.state != (cr.get("status") or {}).get("state") and not draft.events:
        name = name_of(cr)
        if draft.stalled:
            text = f"NIMBuild {name} failed, msg: {draft.stalled[1]}"
            draft.events.append(Event("Warning", draft.state, text))
        else:
            text = f"NIMBuild {name} reconcile success, new state: {draft.state}"
            draft.events.append(Event("Normal", draft.state, text))
    return draft.finish()
