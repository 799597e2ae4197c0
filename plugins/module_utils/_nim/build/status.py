# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a NIMBuild: its states and conditions."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._builders.ignored_fields import IgnoredField, ignored_events
from ..._builders.verdict import is_spec_new
from ..._engine.conditions import RECONCILING, find_condition
from ..._engine.desired import Assessment, Event, Outcome, Requeue
from ..._engine.status_builder import Progress, StatusBuilder
from ..cache_spec import why_not_ready
from .app import NIMBuildApp
from .constants import (
    CACHE_FAILED,
    CACHE_NOT_FOUND,
    FAILED,
    IN_PROGRESS,
    MANIFEST_READ,
    NO_PROFILE,
    ONE_PROFILE,
    PENDING,
    POD_COMPLETED,
    POD_CREATED,
    POD_PENDING,
    READY,
    RECONCILE_FAILED,
    SEVERAL_PROFILES,
    WAITING_FOR_CACHE,
)
from .steps import NO_ENGINE, SPEC_CHANGED, Stage, Step, next_step

_INPUT, _OUTPUT = "inputProfile", "outputProfile"
_CACHE_CONDITIONS = (CACHE_NOT_FOUND, CACHE_FAILED, WAITING_FOR_CACHE)
_PROFILE_CONDITIONS = (NO_PROFILE, SEVERAL_PROFILES, ONE_PROFILE)
"""Groups of mutually exclusive conditions: setting one removes the rest."""


def assess(app: NIMBuildApp, outcome: Outcome) -> Assessment:
    """The status, events and requeue after a pass."""
    builder = StatusBuilder({_INPUT: {}, _OUTPUT: {}, **app.status})
    step = next_step(app)
    if outcome.is_final:
        _stall(builder, app, NimError(outcome.failure, reason=outcome.failure_reason))
        return _finish(builder, app)
    if outcome.failure or outcome.refusals:
        _retry(builder, app, outcome)
        return _finish(builder, app)
    if not step.stage.startswith("cache "):
        builder.remove_condition(*_CACHE_CONDITIONS)
    if step.problem:
        _stall(builder, app, step.problem)
    else:
        builder.recover(RECONCILE_FAILED)
        _STAGES[step.stage](builder, app, step)
    return _finish(builder, app)


def refuse(app: NIMBuildApp, error: NimError) -> Assessment:
    """The status of a build that is too large; a Ready build stays Ready."""
    builder = StatusBuilder({_INPUT: {}, _OUTPUT: {}, **app.status})
    builder.fail(RECONCILE_FAILED, f"NIMBuild {app.name}", str(error))
    if builder.state != READY:
        builder.set_field("state", PENDING)
    builder.stalled = (error.reason, str(error))
    return _finish(builder, app)


def _retry(builder: StatusBuilder, app: NIMBuildApp, outcome: Outcome) -> None:
    """Report a transient error; a Ready build stays Ready."""
    message = outcome.failure or "; ".join(item.message for item in outcome.refusals)
    builder.fail(RECONCILE_FAILED, f"NIMBuild {app.name}", message)
    if builder.state != READY:
        builder.set_field("state", PENDING)
    builder.retry(message)


def _stall(builder: StatusBuilder, app: NIMBuildApp, problem: NimError) -> None:
    """Report a problem that needs user action."""
    builder.fail(RECONCILE_FAILED, f"NIMBuild {app.name}", str(problem))
    builder.set_field("state", FAILED if problem.reason == NO_ENGINE else PENDING)
    _stop(builder, problem.reason, str(problem))


def _stop(builder: StatusBuilder, reason: str, message: str) -> None:
    builder.stalled = (reason, message)
    builder.requeue = Requeue(after=True)


def _choose(
    builder: StatusBuilder, kinds: t.Sequence[str], kind: str, reason: str, message: str
) -> None:
    """Set one of several mutually exclusive conditions."""
    builder.remove_condition(*(other for other in kinds if other != kind))
    builder.set_condition(kind, True, reason, message)


def _without_cache(builder: StatusBuilder, app: NIMBuildApp, _step: Step) -> None:
    reason = "NIMCacheNotFound"
    _choose(
        builder, _CACHE_CONDITIONS, CACHE_NOT_FOUND, reason, "Not able to get NIMCache for NIMBuild"
    )
    builder.set_field("state", FAILED)
    _stop(builder, reason, f"NIMCache {app.spec.cache_name} not found")


def _with_failed_cache(builder: StatusBuilder, app: NIMBuildApp, _step: Step) -> None:
    reason = "NIMCacheFailed"
    message = "NIMCache is failed. NIMBuild can not progress"
    _choose(builder, _CACHE_CONDITIONS, CACHE_FAILED, reason, message)
    builder.set_field("state", FAILED)
    _stop(builder, reason, f"NIMCache {app.spec.cache_name} failed: see its conditions")


def _await_cache(builder: StatusBuilder, app: NIMBuildApp, _step: Step) -> None:
    reason = "NIMCacheNotReady"
    message = "Waiting for NIMCache to be ready before building engines"
    _choose(builder, _CACHE_CONDITIONS, WAITING_FOR_CACHE, reason, message)
    builder.set_field("state", PENDING)
    cache = app.live("NIMCache", app.spec.cache_name)
    text = why_not_ready(cache) if cache else f"NIMCache {app.spec.cache_name} not ready"
    builder.reconciling = (reason, text)


def _without_volume(builder: StatusBuilder, app: NIMBuildApp, step: Step) -> None:
    """The volume is gone, and the engine with it, finished or not."""
    builder.remove_condition(POD_CREATED, POD_PENDING, POD_COMPLETED)
    _wait(builder, app, step)


def _wait(builder: StatusBuilder, _app: NIMBuildApp, step: Step) -> None:
    before = find_condition(builder.conditions, RECONCILING) or {}
    builder.set_field("state", PENDING)
    builder.reconciling = step.waiting
    if step.waiting and step.waiting[0] == SPEC_CHANGED:
        builder.remove_condition(POD_CREATED, POD_PENDING, POD_COMPLETED)
        if before.get("message") != step.waiting[1]:
            builder.events.append(Event("Normal", SPEC_CHANGED, step.waiting[1]))


def _without_profile(builder: StatusBuilder, app: NIMBuildApp, _step: Step) -> None:
    reason, message = "NoBuildableProfilesFound", "No buildable profiles found for NIM Cache"
    if _names_profile(app):
        message = "No buildable profiles found, please select a valid profile from the NIM cache"
    _fail_for_profiles(builder, NO_PROFILE, reason, message)


def _with_several_profiles(builder: StatusBuilder, _app: NIMBuildApp, _step: Step) -> None:
    message = "Multiple buildable profiles found in NIM Cache, please select one profile to build"
    _fail_for_profiles(builder, SEVERAL_PROFILES, "MultipleBuildableProfilesFound", message)


def _fail_for_profiles(builder: StatusBuilder, kind: str, reason: str, message: str) -> None:
    _choose(builder, _PROFILE_CONDITIONS, kind, reason, message)
    builder.set_field("state", FAILED)
    _stop(builder, reason, message)


def _names_profile(app: NIMBuildApp) -> bool:
    return bool(app.spec.profile)


def _start(builder: StatusBuilder, app: NIMBuildApp, step: Step) -> None:
    """Report a pod created in this pass, possibly as a replacement."""
    made, done = (find_condition(builder.conditions, kind) for kind in (POD_CREATED, POD_COMPLETED))
    if made and not done:
        text = f"Pod {app.build_pod_name} disappeared before the engine was built: building again"
        builder.events.append(Event("Warning", "EngineBuildPodLost", text))
    message = "Single buildable profile cached in NIM Cache"
    if _names_profile(app):
        message = "Single buildable profile found"
    _choose(builder, _PROFILE_CONDITIONS, ONE_PROFILE, "BuildableProfileFound", message)
    builder.remove_condition(POD_PENDING, POD_COMPLETED)
    builder.status[_INPUT] = {}
    _record_pod(builder, step)
    builder.set_field("state", IN_PROGRESS)
    builder.reconciling = _POD_CREATED


def _record_pod(builder: StatusBuilder, step: Step) -> None:
    """Set the condition and input profile that any existing pod implies."""
    builder.set_condition(POD_CREATED, True, *_POD_CREATED)
    if step.profile and not builder.status[_INPUT]:
        builder.status[_INPUT] = dict(step.profile)


def _build(builder: StatusBuilder, _app: NIMBuildApp, step: Step) -> None:
    _record_pod(builder, step)
    builder.set_condition(POD_PENDING, True, "PodRunning", "The Pod to build engine is in progress")
    builder.set_field("state", IN_PROGRESS)
    builder.reconciling = step.waiting


def _complete(builder: StatusBuilder, _app: NIMBuildApp, step: Step) -> None:
    """Record the result before the next pass deletes the pod."""
    _record_pod(builder, step)
    progress = ("PodReady", "The Pod to build engine has successfully completed")
    builder.set_condition(POD_COMPLETED, True, *progress)
    builder.set_field("state", IN_PROGRESS)
    builder.reconciling = progress


def _give_up(builder: StatusBuilder, _app: NIMBuildApp, step: Step) -> None:
    _record_pod(builder, step)
    builder.set_condition(POD_COMPLETED, False, "PodFailed", "The pod to build engine has failed")
    builder.set_field("state", FAILED)
    _stop(builder, *t.cast(Progress, step.waiting))


def _read(builder: StatusBuilder, _app: NIMBuildApp, step: Step) -> None:
    builder.set_field("state", IN_PROGRESS)
    builder.reconciling = step.waiting


def _end(builder: StatusBuilder, app: NIMBuildApp, step: Step) -> None:
    """Finish once the cache lists the profile; the next pass deletes the pod."""
    builder.status[_OUTPUT] = step.built.to_status() if step.built else {}
    if step.listing:
        builder.patches.append(step.listing)
        message = f"waiting for NIMCache {app.spec.cache_name} to list the built profile"
        builder.set_field("state", IN_PROGRESS)
        builder.reconciling = ("ListingProfile", message)
        return
    message = "The Pod to read local model manifest is completed"
    builder.set_condition(MANIFEST_READ, True, "PodCompleted", message)
    builder.set_field("state", READY)
    builder.requeue = Requeue(after=True)


def _rest(builder: StatusBuilder, _app: NIMBuildApp, _step: Step) -> None:
    builder.set_field("state", READY)


_POD_CREATED = ("EngineBuildPodCreated", "The pod to build engine has been created")
_STAGES: dict[Stage, t.Callable[[StatusBuilder, NIMBuildApp, Step], None]] = {
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


def _finish(builder: StatusBuilder, app: NIMBuildApp) -> Assessment:
    """Add an event for a new state, unless another event already explains it."""
    if builder.state != app.status.get("state") and not builder.events:
        name = app.name
        if builder.stalled:
            text = f"NIMBuild {name} failed, msg: {builder.stalled[1]}"
            builder.events.append(Event("Warning", builder.state, text))
        else:
            text = f"NIMBuild {name} reconcile success, new state: {builder.state}"
            builder.events.append(Event("Normal", builder.state, text))
    if is_spec_new(app.resource):
        builder.events += ignored_events(app.resource, [IgnoredField("image.pullPolicy")])
    builder.derive_ready()
    return builder.finish()
