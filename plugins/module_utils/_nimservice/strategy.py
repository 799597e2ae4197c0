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
    selector_labels,
)

ROLLING_UPDATE = {
    "type": "RollingUpdate",
    "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
}


def build_strategy(cr: Resource, observed: Observed) -> Manifest:
    """The Deployment's `spec.strategy`."""
    live = observed.object(*deployment_of(cr))
    count = _widened(live, observed.get(_pods_of(cr).key) or []) if live and _is_short(live) else 0
    if not count:
        return ROLLING_UPDATE
    return ROLLING_UPDATE | {"rollingUpdate": {"maxUnavailable": count, "maxSurge": 0}}


def strategy_reads(cr: Resource, observed: Observed) -> list[Read]:
    """The pods, while an update is under way in which some are missing."""
    live = observed.object(*deployment_of(cr))
    return [_pods_of(cr)] if live and _is_short(live) else []


def _widened(live: t.Mapping[str, t.Any], pods: t.Sequence[t.Mapping[str, t.Any]]) -> int:
    """How many pods may be missing; 0 if it need not be said.

    A pod that was made just now was not tried on the nodes yet, so what was given stays given.
    """
    unschedulable = sum(map(_finds_no_node, pods))
    replicas = int(live["spec"]["replicas"])
    count = unschedulable + max(1, replicas // 4) if unschedulable else 0
    return min(max(count, _given(live)), replicas)


def _is_short(live: t.Mapping[str, t.Any]) -> bool:
    """Whether some pods are yet to be replaced, and not all of those that are to be there are."""
    replicas, status = live["spec"].get("replicas") or 0, live.get("status") or {}
    updated, available = (status.get(f"{what}Replicas") or 0 for what in ("updated", "available"))
    return updated < replicas and available < replicas


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
