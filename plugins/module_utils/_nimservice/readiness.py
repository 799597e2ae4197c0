# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How far the rollout of a Deployment is."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition

DEADLINE_REASON = "ProgressDeadlineExceeded"


@dataclass(frozen=True)
class Readiness:
    """``moving``: the rollout is under way. ``stuck``: the Deployment has given it up."""

    ready: bool
    message: str
    moving: bool = False
    stuck: bool = False


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
    wanted = (deployment.get("spec") or {}).get("replicas") or 0
    if not wanted:
        return Readiness(False, f'deployment "{name}" is scaled down')
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return Readiness(
            False, f'Waiting for deployment "{name}" spec update to be observed...\n', moving=True
        )
    if is_past_deadline(deployment):
        return Readiness(False, f'deployment "{name}" exceeded its progress deadline', stuck=True)
    return _rollout_progress(name, wanted, status)


def _rollout_progress(name: str, wanted: int, status: t.Mapping[str, t.Any]) -> Readiness:
    updated, available = (status.get(f"{what}Replicas") or 0 for what in ("updated", "available"))
    waiting = f'Waiting for deployment "{name}" rollout to finish: '
    if updated < wanted:
        said = f"{updated} out of {wanted} new replicas have been updated...\n"
        return Readiness(False, waiting + said, moving=True)
    if available < updated:
        said = f"{available} of {updated} updated replicas are available...\n"
        return Readiness(False, waiting + said, moving=True)
    return Readiness(True, f'deployment "{name}" successfully rolled out\n')
