# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The desired children of a NIMCache."""

from __future__ import annotations

from dataclasses import replace

from ..._builders.name_rules import check_name
from ..._builders.tenant_limits import forbids_root
from ..._builders.within_limits import within_limits
from ..._engine.desired import Child, Desired
from .app import NIMCacheApp
from .claim_fate import claim_patches
from .config_map import build_config_map
from .constants import READY, ROLE
from .job import refuse_large_job
from .prepared import is_prepared
from .probe import is_map_stale
from .probe_pod import build_probe_pod
from .rbac import build_rbac, find_shared_leftovers
from .removal import plan_removal
from .renewal import find_renewal, is_job_unwanted
from .steps import Steps, next_steps
from .tenant_limits import refuse_forbidden
from .wanted import is_renewing


@within_limits
def desired(app: NIMCacheApp) -> Desired:
    """The children up to the first step that waits or fails; `assess` reports problems.

    NimError, with no changes, if the operator forbids the spec or the spec is too large.
    """
    check_name(app.resource)
    refuse_forbidden(app)
    refuse_large_job(app)
    steps = next_steps(app)
    children = build_rbac(app, app.live("Role", ROLE), is_root=not forbids_root(app.observed))
    if steps.pvc:
        children.append(Child(steps.pvc, create_only=True))
    children += _download(app, steps)
    unwanted = _unwanted(app, steps)
    if is_renewing(app) and not steps.is_blocked:
        unwanted = _add_versions(app, children)
    return Desired(
        children,
        unwanted,
        patches=claim_patches(app),
        shared_unwanted=find_shared_leftovers(app),
    )


def _download(app: NIMCacheApp, steps: Steps) -> list[Child]:
    """The objects of a download: the probe pod, the manifest, and the Job."""
    built = []
    if steps.probe.pod:
        built.append(build_probe_pod(app, app.observed.orchestrator))
    if steps.probe.fresh:
        built.append(build_config_map(app, steps.probe.fresh))
    if steps.job:
        built.append(steps.job)
    return [Child(item, create_only=True) for item in built]


def _add_versions(app: NIMCacheApp, children: list[Child]) -> list[tuple[str, str]]:
    """Add the objects of a renewal and a removal to those of a Ready cache; the unwanted ones."""
    renewal, removal = find_renewal(app), plan_removal(app)
    steps = renewal.steps if renewal else next_steps(app)
    if renewal:
        children += _download(renewal.app, steps)
    if removal.job:
        children.append(Child(removal.job, create_only=True))
    unwanted = _unwanted(app, replace(steps, is_job_stale=False))
    if is_job_unwanted(app, renewal):
        unwanted.append(("Job", app.renewal_name))
    if removal.is_job_unwanted:
        unwanted.append(("Job", app.removal_name))
    return unwanted


def _unwanted(app: NIMCacheApp, steps: Steps) -> list[tuple[str, str]]:
    unwanted = [] if _keeps_pod(steps) else [("Pod", app.pod_name)]
    if steps.is_job_stale:
        unwanted.append(("Job", app.job_name))
    is_kept = app.state == READY and is_prepared(app)
    if app.spec.source and is_map_stale(app) and not is_kept:
        unwanted.append(("ConfigMap", app.config_map_name))
    return unwanted


def _keeps_pod(steps: Steps) -> bool:
    """Whether to keep the probe pod: while it works, or if its log is unreadable."""
    return steps.probe.pod or (steps.problem is not None and steps.problem.is_probe_problem)
