# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How far the rollout of a Deployment, a LeaderWorkerSet or an InferenceService is."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_kserve,
    is_multi_node,
    name_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.platform import awaited
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.standing import (
    predictor_standing,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import leads_to
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    live_workload,
    other_workload,
    replica_counts,
)

DEADLINE_REASON = "ProgressDeadlineExceeded"


@dataclass(frozen=True)
class Readiness:
    """``moving``: the rollout is under way. ``stuck``: the Deployment has given it up."""

    ready: bool
    message: str
    moving: bool = False
    stuck: bool = False


def readiness_of(cr: Resource, observed: Observed, *, is_changed: bool = False) -> Readiness:
    """The readiness of the workload; the Service must lead to it.

    ``is_changed``: its spec was changed since its status was written, as far as is known.
    """
    live = live_workload(cr, observed)
    if left := _left(cr, observed):
        return Readiness(False, f"Waiting for {left} to be replaced", moving=True)
    if is_kserve(cr):
        is_ready, said = predictor_standing(name_of(cr), live, is_changed=is_changed)
        return Readiness(is_ready, said, moving=not is_ready)
    if is_multi_node(cr):
        return readiness_of_groups(live, is_changed=is_changed)
    return rollout_of(live)


def _left(cr: Resource, observed: Observed) -> str:
    """The former workload that is still there, or is still served."""
    if not is_kserve(cr) and leads_to(cr, observed, other_workload(cr)):
        kind, name = other_workload(cr)
        return f'{kind.lower()} "{name}"'
    return awaited(cr, observed)


def is_past_deadline(deployment: t.Mapping[str, t.Any]) -> bool:
    """Whether the Deployment made no progress for too long."""
    found = find_condition((deployment.get("status") or {}).get("conditions"), "Progressing")
    return bool(found) and (found or {}).get("reason") == DEADLINE_REASON


def rollout_of(deployment: t.Mapping[str, t.Any] | None) -> Readiness:
    """The readiness of a Deployment; a status of an older generation counts for nothing."""
    if deployment is None:
        return Readiness(False, "", moving=True)
    name = deployment["metadata"]["name"]
    status = deployment.get("status") or {}
    wanted, updated, available = replica_counts(deployment)
    if not wanted:
        return Readiness(False, f'deployment "{name}" is scaled down')
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return Readiness(
            False, f'Waiting for deployment "{name}" spec update to be observed...\n', moving=True
        )
    if is_past_deadline(deployment):
        return Readiness(False, f'deployment "{name}" exceeded its progress deadline', stuck=True)
    return _rollout_progress(name, wanted, updated, available)


def _rollout_progress(name: str, wanted: int, updated: int, available: int) -> Readiness:
    waiting = f'Waiting for deployment "{name}" rollout to finish: '
    if updated < wanted:
        said = f"{updated} out of {wanted} new replicas have been updated...\n"
        return Readiness(False, waiting + said, moving=True)
    if available < updated:
        said = f"{available} of {updated} updated replicas are available...\n"
        return Readiness(False, waiting + said, moving=True)
    return Readiness(True, f'deployment "{name}" successfully rolled out\n')


def readiness_of_groups(
    groups: t.Mapping[str, t.Any] | None, *, is_changed: bool = False
) -> Readiness:
    """The readiness of a LeaderWorkerSet.

    ``is_changed``: the status is older than the spec. It does not tell its generation itself.
    """
    if groups is None:
        return Readiness(False, "", moving=True)
    subject, status = f'leaderworkerset "{groups["metadata"]["name"]}"', groups.get("status") or {}
    wanted = (groups.get("spec") or {}).get("replicas") or 0
    if not wanted:
        return Readiness(False, f"{subject} is scaled down")
    found = find_condition(status.get("conditions"), "Available") or {}
    counted = status.get("readyReplicas", wanted)
    is_complete = isinstance(counted, int) and counted >= wanted
    if found.get("status") == "True" and is_complete and not is_changed:
        return Readiness(True, f"{subject} is ready")
    return Readiness(False, f"{subject} is not ready", moving=True)
