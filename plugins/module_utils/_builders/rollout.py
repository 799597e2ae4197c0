# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The progress of a Deployment's rollout, and the number of pods that an update may replace.

The default is a quarter and no surge pod, because GPUs are scarce. With fewer GPUs than replicas,
such an update would never finish: unschedulable pods use up the quarter, so no running pod frees
its GPU. Therefore an update does not count them. Other failing pods do count: a bad image stops no
more running pods than in a complete service.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields, Json
from .._engine.conditions import find_condition

DEADLINE_REASON = "ProgressDeadlineExceeded"

ROLLING_UPDATE = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
}


@dataclass(frozen=True)
class Readiness:
    """``moving``: the rollout is in progress. ``stuck``: the Deployment is past its deadline.

    ``awaits_pods``: it waits for pods, whose state may explain why. ``is_off``: no pods are wanted.
    """

    ready: bool
    message: str
    moving: bool = False
    stuck: bool = False
    awaits_pods: bool = False
    is_off: bool = False


def readiness_of_deployment(
    deployment: Fields | None,
    *,
    is_steady: bool = False,
    awaits_old: bool = False,
    needs_one: bool = False,
) -> Readiness:
    """The readiness of a Deployment.

    A status of an older generation is ignored, unless the Deployment ``is_steady``: its pods are
    unaffected by the changes since. ``awaits_old``: not ready before old pods terminated.
    ``needs_one``: only one of the replicas becomes ready, the leader.
    """
    if deployment is None:
        return Readiness(False, "", moving=True)
    name = deployment["metadata"]["name"]
    status = deployment.get("status") or {}
    wanted, updated, available = replica_counts(deployment)
    if not wanted:
        return Readiness(False, f'deployment "{name}" is scaled down', is_off=True)
    generation = deployment["metadata"].get("generation", 0)
    if status.get("observedGeneration", 0) < generation and not is_steady:
        return Readiness(
            False, f'Waiting for deployment "{name}" spec update to be observed...\n', moving=True
        )
    if needs_one and updated >= wanted and available:
        return Readiness(True, _done(name))
    if is_past_deadline(deployment):
        text = f'deployment "{name}" exceeded its progress deadline'
        return Readiness(False, text, stuck=True, awaits_pods=True)
    old = int(status.get("replicas") or 0) - updated if awaits_old else 0
    return _progress_of(name, wanted, updated, available, old)


def _progress_of(name: str, wanted: int, updated: int, available: int, old: int) -> Readiness:
    waiting = f'Waiting for deployment "{name}" rollout to finish: '
    if updated < wanted:
        text = f"{updated} out of {wanted} new replicas have been updated...\n"
        return Readiness(False, waiting + text, moving=True, awaits_pods=True)
    if old > 0:
        text = f"{old} old replicas are pending termination...\n"
        return Readiness(False, waiting + text, moving=True)
    if available < updated:
        text = f"{available} of {updated} updated replicas are available...\n"
        return Readiness(False, waiting + text, moving=True, awaits_pods=True)
    return Readiness(True, _done(name))


def _done(name: str) -> str:
    return f'deployment "{name}" successfully rolled out\n'


def is_past_deadline(deployment: Fields) -> bool:
    """Whether the Deployment has exceeded its progress deadline."""
    found = find_condition((deployment.get("status") or {}).get("conditions"), "Progressing")
    return bool(found) and (found or {}).get("reason") == DEADLINE_REASON


def replica_counts(deployment: Fields) -> tuple[int, int, int]:
    """The desired, updated and available replicas of a Deployment."""
    wanted, status = (deployment.get("spec") or {}).get("replicas"), deployment.get("status") or {}
    found = (wanted, status.get("updatedReplicas"), status.get("availableReplicas"))
    wanted, updated, available = (int(count or 0) for count in found)
    return wanted, updated, available


def lacks_pods(deployment: Fields | None) -> bool:
    """Whether an update is in progress and some pods are missing."""
    replicas, updated, available = replica_counts(deployment or {})
    return updated < replicas and available < replicas


def build_strategy(live: Fields | None, pods: t.Sequence[Fields]) -> Json:
    """`spec.strategy` of a Deployment.

    ``pods``: the pods of ``live``; only unschedulable ones count.
    """
    count = _count_missing(live, pods) if live is not None and lacks_pods(live) else 0
    if not count:
        return ROLLING_UPDATE
    return ROLLING_UPDATE | {"rollingUpdate": {"maxUnavailable": count, "maxSurge": 0}}


def _count_missing(live: Fields, pods: t.Sequence[Fields]) -> int:
    """The number of pods that may be unavailable; 0 if the field can be omitted.

    A value that was set stays, because the scheduler has not tried new pods yet.
    """
    unschedulable = sum(map(_is_unschedulable, pods))
    replicas, _updated, _available = replica_counts(live)
    count = unschedulable + max(1, replicas // 4) if unschedulable else 0
    return min(max(count, _given(live)), replicas)


def _given(live: Fields) -> int:
    """The live limit of unavailable pods, if it was raised."""
    found = ((live["spec"].get("strategy") or {}).get("rollingUpdate") or {}).get("maxUnavailable")
    return found if isinstance(found, int) else 0


def _is_unschedulable(pod: Fields) -> bool:
    scheduled = find_condition((pod.get("status") or {}).get("conditions"), "PodScheduled") or {}
    return scheduled.get("reason") == "Unschedulable"
