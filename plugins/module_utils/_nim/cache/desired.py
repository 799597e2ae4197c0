# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children that a NIMCache wants."""

from __future__ import annotations

from ..._builders.name_rules import check_name
from ..._builders.tenant_limits import forbids_root
from ..._builders.within_limits import within_limits
from ..._engine.desired import Child, Desired
from .app import NIMCacheApp
from .config_map import build_config_map
from .job import refuse_large_job
from .names import ROLE
from .permissions import refuse_forbidden
from .probe_pod import build_probe_pod
from .rbac import build_rbac
from .steps import Steps, next_steps


@within_limits
def desired(app: NIMCacheApp) -> Desired:
    """The children as far as the steps go; `assess` reports a problem, this does not raise it.

    NimError if the operator forbids what the spec wants, or if it is too large; then nothing is
    changed.

    A NIMCache that is being deleted wants nothing: its children are deleted with it.
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
    return Desired(children, _unwanted(app, steps))


def _unwanted(app: NIMCacheApp, steps: Steps) -> list[tuple[str, str]]:
    unwanted = [] if _keeps_pod(steps) else [("Pod", app.pod_name)]
    if steps.is_job_stale:
        unwanted.append(("Job", app.job_name))
    return unwanted


def _keeps_pod(steps: Steps) -> bool:
    """Keep the probe pod while it works, and if its log is unreadable, for inspection."""
    return steps.probe.pod or (steps.problem is not None and steps.problem.is_of_probe)
