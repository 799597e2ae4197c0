# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The steps of a NIMCache: the PVC, then the manifest, the choice of profiles, and the Job.

Each pass derives the steps from the live state. A step is done, waits, or has a problem; the
objects of earlier steps stay wanted in all cases.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field, replace

from ..._base.errors import NimError
from ..._base.types import Manifest
from ..._builders.claim_users import why_terminating
from ..._builders.hardening import is_hardened
from ..._builders.name_rules import check_name
from ..._builders.pvc import build_claim, refuse_foreign_claim
from ..._builders.tenant_limits import may_be_root, restricts_pods
from ..._engine.conditions import find_condition
from ..._engine.created_once import has_other_source, is_outdated
from ..._engine.metadata import finalizers_of
from ..._engine.ownership import belongs_to_namesake, ownership_of
from ..profiles.model_manifest import Profile
from ..profiles.profile_selection import Selection, discover_gpus, select_profiles, summarize
from .app import NIMCacheApp
from .constants import NATIVE, READY, RECONCILE_FAILED, SELECTED_PROFILES
from .disk_need import refuse_small_claim
from .job import build_job, downloads_otherwise, lacks_pod, profiles_of
from .prepared import is_prepared, prepared_record, why_missing
from .probe import Probe, probe_image, stored_manifest, stored_type
from .record import Record, record_of, refuse_other_model
from .source import ALL_PROFILES, content_of, is_native, source_of
from .wanted import is_renewal_wanted

MAX_RENEWED_NAME = 55
"""Maximum length of a name whose Jobs append `-renewal` or `-removal`."""

PVC_LOST = "PVCLost"
SPEC_CHANGED = "SpecChanged"
PVC_AWAITED, JOB_AWAITED = "WaitingForPVC", "WaitingForJob"


@dataclass(frozen=True)
class Problem:
    """Why a cache cannot proceed.

    ``is_requeued``: a change that no watch reports may fix it. ``is_probe_problem``: the output of
    the probe pod causes it.
    """

    message: str
    reason: str
    is_requeued: bool = False
    is_probe_problem: bool = False


@dataclass(frozen=True)
class Steps:
    """The progress of a cache.

    ``pvc`` and ``job`` are objects to create; ``is_pvc_lost``: the PVC of the finished or
    running download is gone; ``is_job_stale``: the Job filled that PVC, or the spec has changed
    since it was created, so it must be deleted.
    ``waiting`` is a (reason, message). ``cached`` are the profiles that the live Job downloads, or
    those of ``adopted``, the record of a claim that already holds the model.
    """

    pvc: Manifest | None = None
    is_pvc_lost: bool = False
    is_job_stale: bool = False
    probe: Probe = field(default_factory=Probe)
    selection: Selection | None = None
    job: Manifest | None = None
    cached: list[Profile] = field(default_factory=list)
    adopted: Record | None = None
    waiting: tuple[str, str] | None = None
    problem: Problem | None = None

    @property
    def is_blocked(self) -> bool:
        """Whether later steps must wait for another pass."""
        return self.waiting is not None or self.problem is not None


_Step = t.Callable[[NIMCacheApp, Steps], Steps]


def next_steps(app: NIMCacheApp) -> Steps:
    """The result of all steps up to the first that waits or fails; raises nothing."""
    return _follow(app, (_pvc_step, _source_step, _probe_step, _job_step))


def download_steps(app: NIMCacheApp) -> Steps:
    """The steps of a renewal's download, up to the first that waits or fails."""
    return _follow(app, (_name_step, _probe_step, _job_step))


def _follow(app: NIMCacheApp, all_steps: t.Sequence[_Step]) -> Steps:
    steps = Steps(probe=Probe(stored_type(app)))
    for step in all_steps:
        try:
            steps = step(app, steps)
        except NimError as error:
            is_probe = step is _probe_step
            problem = Problem(str(error), error.reason, is_probe, is_probe)
            steps = replace(steps, problem=problem)
        if steps.is_blocked:
            break
    return steps


def has_pvc(app: NIMCacheApp) -> bool:
    """Whether the PVC exists or is created in this pass."""
    try:
        return not _pvc_step(app, Steps()).is_blocked
    except NimError:
        return False


def _pvc_step(app: NIMCacheApp, steps: Steps) -> Steps:
    claim = app.spec.claim
    if app.spec.host_path:
        raise NimError(
            "spec.storage.hostPath is not supported for a NIMCache: use spec.storage.pvc",
            reason="HostPathNotSupported",
        )
    live = app.live("PersistentVolumeClaim", claim.name)
    job = app.live("Job", app.job_name)
    if live is None:
        return _replace_pvc(app, steps, job)
    is_idle = job is None and app.state != READY
    if is_idle and claim.is_created:
        refuse_foreign_claim(app, claim, None)
    if belongs_to_namesake(live, app.resource) or (
        is_idle and live["metadata"].get("deletionTimestamp")
    ):
        return replace(steps, waiting=(PVC_AWAITED, why_terminating(app, claim.name)))
    return steps


def _replace_pvc(app: NIMCacheApp, steps: Steps, job: Manifest | None) -> Steps:
    """Recreate a lost PVC once the status is no longer Ready and the Job that filled it is gone.

    Otherwise, after a crash between two passes, the empty PVC could be mistaken for a full one.
    """
    claim = app.spec.claim
    is_stale = job is not None and ownership_of(job, app.resource) != "foreign"
    steps = replace(steps, is_job_stale=is_stale)
    if not claim.is_created:
        message = f'PersistentVolumeClaim "{claim.name}" not found'
        if not claim.is_named:
            message += f": set {claim.field}.create to create it, or name another one"
        return replace(steps, problem=Problem(message, "PVCNotFound", is_requeued=True))
    if is_stale or app.state == READY:
        message = f"PersistentVolumeClaim {claim.name} is lost: the model will be cached again"
        return replace(steps, is_pvc_lost=True, waiting=(PVC_LOST, message))
    if missing := why_missing(app):
        return replace(steps, problem=Problem(missing, "PVCNotFound", is_requeued=True))
    steps = replace(steps, pvc=build_claim(app, claim, app.labels))
    if _has_failed(app):
        message = f"waiting for PersistentVolumeClaim {claim.name} to be created"
        return replace(steps, waiting=(PVC_AWAITED, message))
    return steps


def _has_failed(app: NIMCacheApp) -> bool:
    """Whether the last pass failed: the PVC may have been refused, so no Job may start."""
    failed = find_condition(app.status.get("conditions"), RECONCILE_FAILED)
    return failed is not None and failed.get("status") == "True"


def _source_step(app: NIMCacheApp, steps: Steps) -> Steps:
    """Refuse another source for a volume that may hold a part of the first: no mixture of both.

    This is the only place that refuses it, except for the CRD.
    """
    job = app.live("Job", app.job_name)
    is_other = (
        job is not None
        and ownership_of(job, app.resource) == "ours"
        and has_other_source(job, content_of(app))
    )
    if app.state == READY or not is_other:
        return steps
    if not has_started(app, job):
        return _recreate_job(app, steps)
    message = (
        "spec.source has changed after the download started: undo the change, or create another"
        " NIMCache for another source"
    )
    return replace(steps, problem=Problem(message, "SourceChanged"))


def _name_step(app: NIMCacheApp, steps: Steps) -> Steps:
    """NimError if the name is too long for the Jobs of a renewal."""
    check_name(app.resource, MAX_RENEWED_NAME)
    return steps


def _probe_step(app: NIMCacheApp, steps: Steps) -> Steps:
    if is_renewal_wanted(app):  # the spec describes a version that is not the served one
        return replace(steps, probe=Probe(str(app.status.get("type") or "")))
    probe = probe_image(app)
    waiting = ("WaitingForManifest", f"waiting for {probe.waiting}") if probe.waiting else None
    return replace(steps, probe=probe, waiting=waiting)


def _job_step(app: NIMCacheApp, steps: Steps) -> Steps:
    if app.state == READY:
        return steps
    name = app.job_name
    live = app.live("Job", name)
    standing = ownership_of(live, app.resource)
    if standing == "foreign":
        message = f"Job {name} exists and was not created for this NIMCache: delete or rename it"
        return replace(steps, problem=Problem(message, "ForeignJob", is_requeued=True))
    if live is None:
        return _adopt(app, _start_job(app, steps))
    if standing == "leaving":
        message = f"waiting for Job {name} to be deleted{finalizers_of(live)}"
        return replace(steps, waiting=(JOB_AWAITED, message))
    if is_outdated(live, app.resource):
        steps = _review_job(app, steps, live)
    elif _needs_hardening(app, live):
        message = f"Job {name} is recreated, so that its pods pass Pod Security"
        steps = replace(steps, is_job_stale=True, waiting=(SPEC_CHANGED, message))
    return steps if steps.is_blocked else replace(steps, cached=_list_cached(app, steps, live))


def _adopt(app: NIMCacheApp, steps: Steps) -> Steps:
    """Skip the download if the claim has all of it: an administrator or a NIMCache filled it."""
    record = prepared_record(app) or record_of(app)
    if steps.job is None or record is None:
        return steps
    refuse_other_model(app, record)
    ids = profiles_of(steps.job)
    if not record.holds(content_of(app), ids):
        return steps
    return replace(steps, job=None, adopted=record, cached=_list_profiles(app, steps, ids))


def _review_job(app: NIMCacheApp, steps: Steps, job: Manifest) -> Steps:
    """Keep the Job of an earlier spec only if the present one would give the same download.

    A finished download stays if it has the wanted profiles.
    """
    started = _start_job(app, steps)
    if started.job is None:
        return replace(started, is_job_stale=not has_succeeded(job))
    has_changed = (
        profiles_of(job) != profiles_of(started.job)
        if has_succeeded(job)
        else downloads_otherwise(job, started.job)
    )
    return _recreate_job(app, steps) if has_changed else steps


def _recreate_job(app: NIMCacheApp, steps: Steps) -> Steps:
    message = f"Job {app.job_name} is recreated, because the spec has changed"
    return replace(steps, is_job_stale=True, waiting=(SPEC_CHANGED, message))


def has_started(app: NIMCacheApp, job: Manifest | None) -> bool:
    """Whether a pod of a download has run, so that the volume may hold a part of the model."""
    if (app.status.get("download") or {}).get("started"):
        return True
    status = (job or {}).get("status") or {}
    return any(status.get(count) for count in ("ready", "failed", "succeeded"))


def _needs_hardening(app: NIMCacheApp, job: Manifest) -> bool:
    """Whether the pods of a Job that never had one would be admitted if it were created again."""
    if may_be_root(app) or not lacks_pod(job) or has_started(app, job):
        return False
    return not is_hardened(job, is_restricted=restricts_pods(app))


def _start_job(app: NIMCacheApp, steps: Steps) -> Steps:
    profiles: list[str] = []
    if source_of(app).is_optimized and not is_native(app, steps.probe.cache_type):
        profiles, steps = _choose_profiles(app, steps)
    if steps.problem:
        return steps
    job = build_job(app, steps.probe.cache_type, profiles, app.observed.orchestrator)
    if app.live("Job", app.job_name) is None and not is_prepared(app):
        refuse_small_claim(app, job, steps.probe)
    if steps.pvc is not None:
        return replace(steps, waiting=("PVCCreated", f"waiting for Job {app.job_name} to start"))
    return replace(steps, job=job)


def _choose_profiles(app: NIMCacheApp, steps: Steps) -> tuple[list[str], Steps]:
    """The profile ids to download: the given ones, or else the selected ones."""
    source = source_of(app)
    given = list(source.profiles) or _annotated_profiles(app)
    if given:
        return given, steps
    manifest = stored_manifest(app, steps.probe)
    selection = select_profiles(
        manifest.profiles,
        source.wanted_model,
        discover_gpus(app.observed.node_labels),
        manifest.version,
    )
    steps = replace(steps, selection=selection)
    if not selection.selected:
        message = f"no profiles are selected for caching: {summarize(selection)}"
        steps = replace(steps, problem=Problem(message, "NoProfilesSelected", is_requeued=True))
    return selection.selected, steps


def _annotated_profiles(app: NIMCacheApp) -> list[str]:
    text = app.annotation(SELECTED_PROFILES)
    if not text:
        return []
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not ids or not all(isinstance(item, str) for item in ids):
        raise NimError(
            f"metadata.annotations[{SELECTED_PROFILES}] must be a JSON list of profile ids",
            reason="ReconcileFailed",
        )
    return t.cast(list[str], ids)


def _list_cached(app: NIMCacheApp, steps: Steps, job: Manifest) -> list[Profile]:
    """The profiles that the Job downloaded, from the manifest; none while it runs.

    The Job's list is authoritative: the nodes that a selection depends on may have changed since.
    """
    return _list_profiles(app, steps, profiles_of(job)) if has_succeeded(job) else []


def _list_profiles(app: NIMCacheApp, steps: Steps, ids: t.Sequence[str]) -> list[Profile]:
    """The profiles with these ids, from the manifest; none if the image has no choice of them."""
    if not ids or not source_of(app).is_optimized or steps.probe.cache_type == NATIVE:
        return []
    if ALL_PROFILES in ids:
        return []
    manifest = stored_manifest(app, steps.probe)
    return [profile for profile in manifest.profiles if profile.id in ids]


def has_succeeded(job: Manifest) -> bool:
    """Whether the download is complete."""
    status = job.get("status") or {}
    return bool(status.get("succeeded")) or bool(job_condition(job, "Complete"))


def job_condition(job: Manifest, kind: str) -> dict[str, t.Any]:
    """The Job's condition of a type if it is true, otherwise an empty mapping."""
    for item in (job.get("status") or {}).get("conditions") or []:
        if item.get("type") == kind and item.get("status") == "True":
            return dict(item)
    return {}
