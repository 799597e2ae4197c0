# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status of a download, as its Job shows it: of the first version, or of a renewed one."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._base.json_size import show_size
from ..._base.types import Json, Manifest
from ..._engine.api_resources import key_of
from ..._engine.conditions import find_condition
from ..._engine.desired import Event, Outcome
from ..._engine.ownership import ownership_of
from ..._engine.status_builder import StatusBuilder
from ..profiles.model_manifest import INPUT_TAG, list_profiles
from ..profiles.profile_selection import summarize
from .app import NIMCacheApp
from .constants import FAILED, IN_PROGRESS, PENDING, READY, STARTED
from .disk_need import whole_size
from .job import BACKOFF_LIMIT, profiles_of
from .measure import LOG, measure
from .prepared import PREPARED, is_prepared
from .probe import unknown_profiles
from .progress import count_profiles, describe_content, describe_progress, why_waiting
from .puller_output import share_of
from .record import Record
from .source import ALL_PROFILES, source_of
from .steps import Steps, has_started, has_succeeded, job_condition

JOB_CREATED = "NIM_CACHE_JOB_CREATED"
JOB_PENDING = "NIM_CACHE_JOB_PENDING"
JOB_COMPLETED = "NIM_CACHE_JOB_COMPLETED"

CLAIM_ADOPTED, CLAIM_PREPARED = "ClaimAdopted", "ClaimPrepared"
_QUARTER = 25
_MODEL = "spec.source.ngc.model"


def record_start(builder: StatusBuilder, app: NIMCacheApp, steps: Steps) -> None:
    """Record that the volume may hold a part of the model: the CRD then refuses another source.

    A cache that was Ready has a `status.pvc` instead.
    """
    job = app.live("Job", app.job_name)
    is_ours = ownership_of(job, app.resource) == "ours"
    if builder.state == READY or steps.is_pvc_lost or steps.pvc:
        builder.set_field("download", None)
    elif is_ours and has_started(app, job):
        builder.set_field("download", {**(builder.status.get("download") or {}), "started": True})


def follow_job(builder: StatusBuilder, app: NIMCacheApp, steps: Steps, outcome: Outcome) -> None:
    """Set the state that the Job's progress implies."""
    job = app.live("Job", app.job_name)
    if steps.adopted:
        _adopt(builder, app, steps, steps.adopted)
        return
    if job is None:
        builder.reconciling = ("CreatingJob", f"Job {app.job_name} will be created")
        return
    is_new = steps.job is not None and key_of(steps.job) in outcome.written
    if is_new or not find_condition(builder.conditions, JOB_CREATED):
        builder.set_condition(
            JOB_CREATED, True, "JobCreated", "The Job to cache NIM has been created"
        )
    if is_new:
        builder.set_field("download", {**_started(builder), **_counted(app, job, steps)})
        _start(builder, app, steps, job)
    elif has_succeeded(job):
        _complete(builder, app, steps)
    elif job_condition(job, "Failed"):
        _give_up(builder, job)
    else:
        if "profiles" not in (builder.status.get("download") or {}):
            builder.set_field("download", {**_started(builder), **_counted(app, job, steps)})
        _progress(builder, app, job)
        _measure(builder, app, job, steps)


def _started(builder: StatusBuilder) -> Json:
    return {"started": True} if (builder.status.get("download") or {}).get("started") else {}


def _counted(app: NIMCacheApp, job: Manifest, steps: Steps) -> Json:
    count = count_profiles(app, job, steps.probe)
    return {"profiles": count} if count else {}


def _describe(builder: StatusBuilder, message: str, job: Manifest, why: str = "") -> str:
    count = (builder.status.get("download") or {}).get("profiles") or 0
    return describe_progress(message, job, count, why)


def _start(builder: StatusBuilder, app: NIMCacheApp, steps: Steps, job: Manifest) -> None:
    builder.events += _choice_events(app, steps)
    if app.spec.ignores_host_path:
        text = "spec.storage.hostPath has no effect beside spec.storage.pvc"
        builder.events.append(Event("Warning", "Ignored", text))
    count = (builder.status.get("download") or {}).get("profiles") or 0
    if ALL_PROFILES in profiles_of(job):
        text = f"the download fetches {describe_content(job, count)}"
        builder.events.append(Event("Normal", "ProfilesSelected", text))
    builder.set_field("state", STARTED)
    _preserve_built(builder)
    message = "The Job to cache NIM has been created"
    builder.reconciling = ("JobCreated", _describe(builder, message, job))


def _choice_events(app: NIMCacheApp, steps: Steps) -> list[Event]:
    """The choice of profiles for a new Job, and warnings about profiles in the spec."""
    if steps.selection:
        return [Event("Normal", "ProfilesSelected", summarize(steps.selection))]
    source = source_of(app)
    if not source.profiles:
        return []
    if ALL_PROFILES in source.profiles and len(source.profiles) > 1:
        text = f"{_MODEL}.profiles contains {ALL_PROFILES}, so its other items have no effect"
        return [Event("Warning", "Ignored", text)]
    events = []
    if source.ignored_options:
        ignored = ", ".join(f"{_MODEL}.{name}" for name in source.ignored_options)
        text = f"{_MODEL}.profiles lists the profiles, so these fields have no effect: {ignored}"
        events.append(Event("Warning", "Ignored", text))
    unknown = unknown_profiles(app, steps.probe)
    if unknown:
        text = (
            f"{_MODEL}.profiles: the manifest of image {source.puller} lacks {', '.join(unknown)},"
            " so the download may fail. nimops.nim.profiles lists the profiles of the image"
        )
        events.append(Event("Warning", "UnknownProfiles", text))
    return events


def _adopt(builder: StatusBuilder, app: NIMCacheApp, steps: Steps, record: Record) -> None:
    """Report a claim that already holds the model, and the profiles that NIMBuilds added to it."""
    claim = f"PersistentVolumeClaim {app.spec.claim.name}"
    if is_prepared(app):
        reason = CLAIM_PREPARED
        message = f"{claim} holds the model according to the annotation {PREPARED}"
    else:
        reason = CLAIM_ADOPTED
        message = f"{claim} of an earlier NIMCache of this name holds the model"
    message += ", so nothing is downloaded"
    builder.events.append(Event("Normal", reason, message))
    builder.set_field("profiles", [*record.built])
    _complete(builder, app, steps, (reason, message))


def _complete(
    builder: StatusBuilder,
    app: NIMCacheApp,
    steps: Steps,
    why: tuple[str, str] = ("JobCompleted", "The Job to cache NIM has successfully completed"),
) -> None:
    listed = list_profiles(steps.cached)
    reason, message = why
    if len(listed) < len(steps.cached):
        counts = f"{len(listed)} of {len(steps.cached)}"
        message += f"; status.profiles only has room for the first {counts} profiles"
    builder.set_condition(JOB_COMPLETED, True, reason, message)
    builder.set_field("state", READY)
    builder.set_field("pvc", app.spec.claim.name)
    builder.set_field("download", None)
    _preserve_built(builder, listed)


def _preserve_built(builder: StatusBuilder, cached: t.Sequence[Manifest] = ()) -> None:
    """List the cached profiles and those that NIMBuilds added to the PVC, where they stay."""
    names = {profile["name"] for profile in cached}
    built = [
        profile
        for profile in builder.status.get("profiles") or []
        if INPUT_TAG in (profile.get("config") or {}) and profile["name"] not in names
    ]
    builder.set_field("profiles", [*cached, *built])


def _give_up(builder: StatusBuilder, job: Manifest) -> None:
    builder.set_condition(JOB_COMPLETED, False, "JobFailed", "The Job to cache NIM has failed")
    builder.set_field("state", FAILED)
    _preserve_built(builder)
    why = job_condition(job, "Failed").get("message") or "it gave no reason"
    builder.stalled = (
        "JobFailed",
        f"Job {job['metadata']['name']} failed: {why}; see the logs of its pods. The download is"
        " retried when the Job is deleted",
    )


def _progress(builder: StatusBuilder, app: NIMCacheApp, job: Manifest) -> None:
    """A failed pod is not final: the Job retries several times."""
    status = job.get("status") or {}
    failed = int(status.get("failed") or 0)
    _preserve_built(builder)
    if status.get("active") or failed:
        limit = job["spec"].get("backoffLimit", BACKOFF_LIMIT)
        tries = f" ({failed} of {limit + 1} attempts failed)" if failed else ""
        progress = ("JobRunning", f"The Job to cache NIM is in progress{tries}")
        builder.set_condition(JOB_PENDING, False, *progress)
        builder.set_field("state", IN_PROGRESS)
    else:
        progress = ("JobPending", "The Job to cache NIM is in pending state")
        builder.set_condition(JOB_PENDING, True, *progress)
        builder.set_field("state", PENDING)
    builder.reconciling = (progress[0], _describe(builder, progress[1], job, why_waiting(app)))
    builder.requeue = replace(builder.requeue, wake_on_child=True)


def _measure(builder: StatusBuilder, app: NIMCacheApp, job: Manifest, steps: Steps) -> None:
    """Set the progress of the download; an event reports each quarter.

    It never goes back: a pod that resumes a download does not report what is already there.
    """
    if LOG not in app.observed.answers:
        return
    builder.requeue = replace(builder.requeue, follow=True)
    found = measure(app, whole_size(app, job, steps.probe))
    if found is None:
        return
    before = builder.status.get("download") or {}
    fields = {key: max(value, before.get(key) or 0) for key, value in found.to_status().items()}
    if fields.get("bytes") and fields.get("totalBytes"):
        fields["percent"] = share_of(fields["bytes"], fields["totalBytes"])
    builder.set_field("download", {**before, **fields})
    percent = fields.get("percent", 0)
    if percent // _QUARTER > (before.get("percent") or 0) // _QUARTER:
        total = fields.get("totalBytes")
        of_total = f" of {show_size(total)}" if total else ""
        text = f"{percent // _QUARTER * _QUARTER} %{of_total} are downloaded"
        builder.events.append(Event("Normal", "DownloadProgress", text))
