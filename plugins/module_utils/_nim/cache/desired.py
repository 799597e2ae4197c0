# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children that a NIMCache wants."""

from __future__ import annotations

from ..._builders.name_rules import check_name
from ..._builders.tenant_limits import forbids_root
from ..._builders.within_limits import within_limits
from ..._engine.desired import Child, Desired
from .app import NIMCacheApp
from .claim_fate import claim_patches
from .config_map import build_config_map
from .constants import ROLE
from .job import refuse_large_job
from .probe import is_map_stale
from .probe_pod import build_probe_pod
from .rbac import build_rbac
from .steps import Steps, next_steps
from .tenant_limits import refuse_forbidden


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
    if steps.probe.pod:
        pod = build_probe_pod(app, app.observed.orchestrator)
        children.append(Child(pod, create_only=True))
    if steps.probe.fresh:
        children.append(Child(build_config_map(app, steps.probe.fresh), create_only=True))
    if steps.job:
        children.append(Child(steps.job, create_only=True))
    return Desired(children, _unwanted(app, steps), patches=claim_patches(app))


def _unwanted(app: NIMCacheApp, steps: Steps) -> list[tuple[str, str]]:
    unwanted = [] if _keeps_pod(steps) else [("Pod", app.pod_name)]
    if steps.is_job_stale:
        unwanted.append(("Job", app.job_name))
    if app.spec.source and is_map_stale(app):
        unwanted.append(("ConfigMap", app.config_map_name))
    return unwanted


def _keeps_pod(steps: Steps) -> bool:
    """Whether to keep the probe pod: while it works, or if its log is unreadable."""
    return steps.probe.pod or (steps.problem is not None and steps.problem.is_probe_problem)
