# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a NIMCache needs next: the claim, then the manifest, then the choice of profiles, the Job.

The steps are taken anew on every pass, from what is live; each ends in one of: done, something to
wait for, a problem. Whatever the outcome, the objects of the steps before it are wanted.
"""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field, replace

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import Profile
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import build_claim, claim_name
from ansible_collections.nimops.nim.plugins.module_utils._common.standing import (
    is_of_namesake,
    standing_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.flavour import (
    ALL_PROFILES,
    is_native,
    is_optimized,
    wanted_model,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.job import (
    build_job,
    profiles_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    NATIVE,
    READY,
    RECONCILE_FAILED,
    SELECTED_PROFILES,
    Resource,
    job_name,
    part_labels,
    state_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe import (
    Probe,
    kept_manifest,
    probe_image,
    stored_type,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.selection import (
    Selection,
    discover_gpus,
    select_profiles,
    summarize,
)

PVC_LOST = "PVCLost"


@dataclass(frozen=True)
class Problem:
    """Why a cache cannot go on.

    ``is_polled``: something that no watch tells of may mend it. ``is_of_probe``: it came from what
    the probe pod printed.
    """

    message: str
    reason: str
    is_polled: bool = False
    is_of_probe: bool = False


@dataclass(frozen=True)
class Steps:
    """How far a cache has come.

    ``claim`` and ``job`` are objects to make; ``is_claim_lost``: the claim of the finished or
    running download is gone; ``is_job_stale``: the Job must go as it filled that lost claim.
    ``waiting`` is a (reason, message). ``cached`` are the profiles that the live Job downloads.
    """

    claim: Manifest | None = None
    is_claim_lost: bool = False
    is_job_stale: bool = False
    probe: Probe = field(default_factory=Probe)
    selection: Selection | None = None
    job: Manifest | None = None
    cached: list[Profile] = field(default_factory=list)
    waiting: tuple[str, str] | None = None
    problem: Problem | None = None

    @property
    def has_stopped(self) -> bool:
        """Whether no later step can be taken in this pass."""
        return self.waiting is not None or self.problem is not None


def take_steps(cr: Resource, observed: Observed) -> Steps:
    """All steps that can be taken now; raises nothing, as a problem is a step's outcome."""
    steps = Steps(probe=Probe(stored_type(cr)))
    for take in (_take_claim, _take_probe, _take_job):
        try:
            steps = take(cr, observed, steps)
        except NimError as error:
            is_of_probe = take is _take_probe
            problem = Problem(str(error), error.reason, is_of_probe, is_of_probe)
            steps = replace(steps, problem=problem)
        if steps.has_stopped:
            break
    return steps


def has_claim(cr: Resource, observed: Observed) -> bool:
    """Whether the claim is there, or will be made in this pass."""
    try:
        return not _take_claim(cr, observed, Steps()).has_stopped
    except NimError:
        return False


def _take_claim(cr: Resource, observed: Observed, steps: Steps) -> Steps:
    storage = cr["spec"].get("storage") or {}
    if storage.get("hostPath") and not storage.get("pvc"):
        raise NimError(
            "spec.storage.hostPath is not supported for a NIMCache: use spec.storage.pvc",
            reason="HostPathNotSupported",
        )
    live = observed.object("PersistentVolumeClaim", claim_name(cr))
    job = observed.object("Job", job_name(cr))
    if live is None:
        return _replace_claim(cr, steps, job)
    is_idle = job is None and state_of(cr) != READY
    if is_of_namesake(live, cr) or (is_idle and live["metadata"].get("deletionTimestamp")):
        message = f"waiting for PersistentVolumeClaim {claim_name(cr)} to be gone"
        return replace(steps, waiting=("WaitingForPVC", message))
    return steps


def _replace_claim(cr: Resource, steps: Steps, job: Manifest | None) -> Steps:
    """An empty claim must not pass for a full one, whatever a crash between two passes leaves.

    So a lost claim is made anew only when the status says no longer that the cache is Ready, and
    the Job that filled it is gone.
    """
    name = claim_name(cr)
    pvc = (cr["spec"].get("storage") or {}).get("pvc") or {}
    is_stale = job is not None and standing_of(job, cr) != "foreign"
    steps = replace(steps, is_job_stale=is_stale)
    if not pvc.get("create"):
        message = f'PersistentVolumeClaim "{name}" not found'
        return replace(steps, problem=Problem(message, "PVCNotFound", is_polled=True))
    if is_stale or state_of(cr) == READY:
        message = f"PersistentVolumeClaim {name} is gone: the model is cached anew"
        return replace(steps, is_claim_lost=True, waiting=(PVC_LOST, message))
    steps = replace(steps, claim=build_claim(cr, part_labels(cr)))
    if _has_failed(cr):
        message = f"waiting for PersistentVolumeClaim {name} to be made"
        return replace(steps, waiting=("WaitingForPVC", message))
    return steps


def _has_failed(cr: Resource) -> bool:
    """Whether the last pass failed: a claim may have been refused, so nothing is started for it."""
    failed = find_condition((cr.get("status") or {}).get("conditions"), RECONCILE_FAILED)
    return failed is not None and failed.get("status") == "True"


def _take_probe(cr: Resource, observed: Observed, steps: Steps) -> Steps:
    probe = probe_image(cr, observed)
    waiting = ("WaitingForManifest", f"waiting for {probe.waiting}") if probe.waiting else None
    return replace(steps, probe=probe, waiting=waiting)


def _take_job(cr: Resource, observed: Observed, steps: Steps) -> Steps:
    if state_of(cr) == READY:
        return steps
    name = job_name(cr)
    live = observed.object("Job", name)
    standing = standing_of(live, cr)
    if standing == "foreign":
        message = f"Job {name} exists and was not made for this NIMCache: delete or rename it"
        return replace(steps, problem=Problem(message, "ForeignJob", is_polled=True))
    if standing == "leaving":
        return replace(steps, waiting=("WaitingForJob", f"waiting for Job {name} to be gone"))
    if live is not None:
        return replace(steps, cached=_list_cached(cr, observed, steps, live))
    return _start_job(cr, observed, steps)


def _start_job(cr: Resource, observed: Observed, steps: Steps) -> Steps:
    profiles: list[str] = []
    if is_optimized(cr) and not is_native(cr, steps.probe.cache_type):
        profiles, steps = _choose_profiles(cr, observed, steps)
    if steps.problem:
        return steps
    job = build_job(cr, steps.probe.cache_type, profiles, observed.orchestrator)
    if steps.claim is not None:
        return replace(steps, waiting=("PVCCreated", f"waiting for Job {job_name(cr)} to start"))
    return replace(steps, job=job)


def _choose_profiles(cr: Resource, observed: Observed, steps: Steps) -> tuple[list[str], Steps]:
    """The ids to download: those given, else those selected."""
    given = list(wanted_model(cr).get("profiles") or []) or _annotated_profiles(cr)
    if given:
        return given, steps
    manifest = kept_manifest(cr, observed, steps.probe)
    selection = select_profiles(
        manifest.profiles, wanted_model(cr), discover_gpus(observed.node_labels), manifest.version
    )
    steps = replace(steps, selection=selection)
    if not selection.selected:
        message = f"no profiles are selected for caching: {summarize(selection)}"
        steps = replace(steps, problem=Problem(message, "NoProfilesSelected", is_polled=True))
    return selection.selected, steps


def _annotated_profiles(cr: Resource) -> list[str]:
    text = (cr["metadata"].get("annotations") or {}).get(SELECTED_PROFILES)
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


def _list_cached(cr: Resource, observed: Observed, steps: Steps, job: Manifest) -> list[Profile]:
    """What the manifest says of the profiles that the Job has downloaded; none for a running Job.

    The Job knows best which: the nodes that a selection goes by may have changed since.
    """
    ids = set(profiles_of(job))
    if not ids or not is_optimized(cr) or steps.probe.cache_type == NATIVE:
        return []
    if ALL_PROFILES in ids or not has_succeeded(job):
        return []
    manifest = kept_manifest(cr, observed, steps.probe)
    return [profile for profile in manifest.profiles if profile.id in ids]


def has_succeeded(job: Manifest) -> bool:
    """Whether the download is complete."""
    status = job.get("status") or {}
    return bool(status.get("succeeded")) or bool(job_condition(job, "Complete"))


def job_condition(job: Manifest, kind: str) -> dict[str, t.Any]:
    """The Job's condition of a type if it is true, else an empty mapping."""
    for item in (job.get("status") or {}).get("conditions") or []:
        if item.get("type") == kind and item.get("status") == "True":
            return dict(item)
    return {}
