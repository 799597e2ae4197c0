# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The content and progress of a download, as its Job and the stored manifest show them."""

from __future__ import annotations

from ..._base.errors import NimError
from ..._base.types import Fields, Manifest
from ..._builders.pod_problems import explain_pods
from ..._builders.unready_pods import pods_of, why_refused
from ..._engine.reads import Read, ReadPods, ReadRefusals
from ..profiles.profile_selection import short_id
from .app import NIMCacheApp
from .constants import NATIVE
from .job import lacks_pod, profiles_of
from .measure import log_reads
from .probe import Probe, stored_manifest
from .source import ALL_PROFILES, source_of

_MAX_LABEL = 63
_MAX_NAMED = 8


def count_profiles(app: NIMCacheApp, job: Manifest, probe: Probe) -> int:
    """The number of profiles that a Job fetches; 0 if it is unknown.

    The number of all profiles is in the manifest, so it is read once and stored in the status.
    """
    ids = profiles_of(job)
    if ALL_PROFILES not in ids:
        return len(ids)
    if not source_of(app).is_optimized or probe.cache_type == NATIVE:
        return 0
    try:
        return len(stored_manifest(app, probe).profiles)
    except NimError:  # the download does not need the manifest
        return 0


def describe_content(job: Manifest, count: int) -> str:
    """The content that the Job fetches; empty if the image decides."""
    ids = profiles_of(job)
    if ALL_PROFILES in ids:
        return f"all {count} profiles of the image" if count else "all profiles of the image"
    if not ids:
        return ""
    names = ", ".join(short_id(name) for name in ids[:_MAX_NAMED])
    names += ", …" if len(ids) > _MAX_NAMED else ""
    return f"{len(ids)} profile{'s' if len(ids) > 1 else ''}: {names}"


def pod_reads(app: NIMCacheApp) -> list[Read]:
    """The reads of a pod of the Job: why it does not exist or run yet, or what it reports."""
    job = app.live("Job", app.job_name) or {}
    if job and lacks_pod(job):
        return [_refusals_of(app)]
    is_awaited = _is_awaited(job.get("status") or {}) and len(app.job_name) <= _MAX_LABEL
    return [_pods_of(app)] if is_awaited else log_reads(app, job)


def why_waiting(app: NIMCacheApp) -> str:
    """Why the pod of the Job does not exist or is not running; empty if unknown."""
    job = app.live("Job", app.job_name) or {}
    if lacks_pod(job):
        return why_refused(app, _refusals_of(app))
    if not _is_awaited(job.get("status") or {}):
        return ""
    return explain_pods(app.observed.get(_pods_of(app).key) or [])


def describe_progress(message: str, job: Manifest, count: int, why: str = "") -> str:
    """The message about a Job, with what it fetches and whether a pod does so now, or why not."""
    content, stage = describe_content(job, count), _stage(job.get("status") or {})
    parts = [f"it fetches {content}" if content else "", stage, why]
    details = "; ".join(part for part in parts if part)
    return f"{message}: {details}" if details else message


def _stage(status: Fields) -> str:
    if status.get("ready"):
        return "its pod is running"
    return "its pod is not running yet" if _is_awaited(status) else ""


def _is_awaited(status: Fields) -> bool:
    """Whether the Job has a pod that is not running yet."""
    return bool(status.get("active")) and not status.get("ready")


def _refusals_of(app: NIMCacheApp) -> ReadRefusals:
    return ReadRefusals("Job", app.namespace, app.job_name)


def _pods_of(app: NIMCacheApp) -> ReadPods:
    return pods_of(app, "job-name", app.job_name)
