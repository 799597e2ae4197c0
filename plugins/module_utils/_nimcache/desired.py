# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children that a NIMCache wants."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Child, Desired
from ansible_collections.nimops.nim.plugins.module_utils._common.names import check_name
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.policy import forbids_root
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.config_map import (
    build_config_map,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.names import (
    ROLE,
    Resource,
    job_name,
    pod_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.permissions import (
    refuse_forbidden,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.probe_pod import build_probe_pod
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.rbac import build_rbac
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.steps import Steps, take_steps


def desired(cr: Resource, observed: Observed) -> Desired:
    """The children as far as the steps go; a problem is told by `assess`, not raised.

    NimError if the operator forbids what the spec wants; then nothing is touched.

    A NIMCache that is being deleted wants nothing: its children go with it.
    """
    if cr["metadata"].get("deletionTimestamp"):
        return Desired()
    check_name(cr)
    refuse_forbidden(cr, observed)
    steps = take_steps(cr, observed)
    children = build_rbac(cr, observed.object("Role", ROLE), is_root=not forbids_root(observed))
    if steps.claim:
        children.append(Child(steps.claim, create_only=True))
    if steps.probe.pod:
        pod = build_probe_pod(cr, observed.orchestrator)
        children.append(Child(pod, create_only=True))
    if steps.probe.fresh:
        children.append(Child(build_config_map(cr, steps.probe.fresh), create_only=True))
    if steps.job:
        children.append(Child(steps.job, create_only=True))
    return Desired(children, _unwanted(cr, steps))


def _unwanted(cr: Resource, steps: Steps) -> list[tuple[str, str]]:
    unwanted = [] if _keeps_pod(steps) else [("Pod", pod_name(cr))]
    if steps.is_job_stale:
        unwanted.append(("Job", job_name(cr)))
    return unwanted


def _keeps_pod(steps: Steps) -> bool:
    """The probe pod is kept while it is at work, and when its log cannot be read: to look at."""
    return steps.probe.pod or (steps.problem is not None and steps.problem.is_of_probe)
