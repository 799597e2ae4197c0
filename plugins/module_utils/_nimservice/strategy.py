# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How many pods of a Deployment an update may take at a time.

A quarter, and no extra pod, as GPUs are scarce. With fewer GPUs than replicas that would never end:
the pods that find no node are all that may be missing, so none that runs would give up its GPU. As
long as an update has such pods, they do not count. Pods that fail otherwise do: of what runs, a bad
image takes no more than of a service that is complete.
"""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Observed,
    Read,
    read_objects,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    namespace_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import (
    deployment_of,
    replica_counts,
    selector_labels,
)

ROLLING_UPDATE = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
}


def build_strategy(cr: Resource, observed: Observed) -> Manifest:
    """The Deployment's `spec.strategy`."""
    live = _short(cr, observed)
    count = _widened(live, observed.get(_pods_of(cr).key) or []) if live else 0
    if not count:
        return ROLLING_UPDATE
    return ROLLING_UPDATE | {"rollingUpdate": {"maxUnavailable": count, "maxSurge": 0}}


def strategy_reads(cr: Resource, observed: Observed) -> list[Read]:
    """The pods, while an update is under way in which some are missing."""
    return [_pods_of(cr)] if _short(cr, observed) else []


def _widened(live: t.Mapping[str, t.Any], pods: t.Sequence[t.Mapping[str, t.Any]]) -> int:
    """How many pods may be missing; 0 if it need not be said.

    A pod that was made just now was not tried on the nodes yet, so what was given stays given.
    """
    unschedulable = sum(map(_finds_no_node, pods))
    replicas, _updated, _available = replica_counts(live)
    count = unschedulable + max(1, replicas // 4) if unschedulable else 0
    return min(max(count, _given(live)), replicas)


def _short(cr: Resource, observed: Observed) -> Manifest | None:
    """The live Deployment, if an update is under way and some pods are missing."""
    live = observed.object(*deployment_of(cr))
    replicas, updated, available = replica_counts(live or {})
    return live if updated < replicas and available < replicas else None


def _given(live: t.Mapping[str, t.Any]) -> int:
    """What the update may take as it is, if it was widened."""
    found = ((live["spec"].get("strategy") or {}).get("rollingUpdate") or {}).get("maxUnavailable")
    return found if isinstance(found, int) else 0


def _finds_no_node(pod: t.Mapping[str, t.Any]) -> bool:
    scheduled = find_condition((pod.get("status") or {}).get("conditions"), "PodScheduled") or {}
    return scheduled.get("reason") == "Unschedulable"


def _pods_of(cr: Resource) -> Read:
    ((label, value),) = selector_labels(deployment_of(cr)).items()
    return read_objects("Pod", namespace_of(cr), f"{label}={value}")
