# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which object runs the pods: a Deployment, or a LeaderWorkerSet where a replica spans nodes.

On the platform KServe it is an InferenceService; `kserve/platform.py` tells how one platform's
workload replaces the other's.

`spec.multiNode` is fixed at creation, but it may change all the same where the CRDs are not ours.
Then the two take turns: the new workload is made, the old one is deleted once the new one is there,
and the Service goes over when the old one is gone. Until then its selector shows which one that is,
so that a service of one node needs no look for what it never had. Groups that the reference left
behind serve nobody: `groups.py` says when they are looked for.
"""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.meta import (
    Labels,
    is_controlled_by,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import object_key
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    is_kserve,
    is_multi_node,
    name_of,
    pipeline_size,
)

DEPLOYMENT, GROUPS = "Deployment", "LeaderWorkerSet"
INFERENCE_SERVICE = "InferenceService"
LEADER, WORKER = "leader", "worker"


class Workload(t.NamedTuple):
    """The object that runs the pods."""

    kind: str
    name: str


def deployment_of(cr: Resource) -> Workload:
    """The workload of a service whose replicas fit on a node."""
    return Workload(DEPLOYMENT, name_of(cr))


def groups_of(cr: Resource) -> Workload:
    """The workload of a service whose replicas are groups of pods."""
    return Workload(GROUPS, f"{name_of(cr)}-lws")


def inference_service_of(cr: Resource) -> Workload:
    """The workload of a service that KServe runs."""
    return Workload(INFERENCE_SERVICE, name_of(cr))


def workload_of(cr: Resource) -> Workload:
    """The workload to have."""
    if is_kserve(cr):
        return inference_service_of(cr)
    return groups_of(cr) if is_multi_node(cr) else deployment_of(cr)


def other_workload(cr: Resource) -> Workload:
    """The workload of the other kind of the standalone platform, which is not to be there."""
    return deployment_of(cr) if is_multi_node(cr) else groups_of(cr)


def live_workload(cr: Resource, observed: Observed) -> Manifest | None:
    """The workload to have, as it is."""
    return observed.object(*workload_of(cr))


def container_of(cr: Resource, role: str = LEADER) -> str:
    """The name of the model container; ``role`` tells the pods of a group apart."""
    return f"nim-{role}" if is_multi_node(cr) else f"{name_of(cr)}-ctr"


def live_template(cr: Resource, observed: Observed, role: str = LEADER) -> Manifest:
    """The template of such pods in the workload to have, as it is; empty if there is none."""
    spec = (live_workload(cr, observed) or {}).get("spec") or {}
    if is_kserve(cr):
        return {"spec": spec.get("predictor") or {}}
    if is_multi_node(cr):
        return (spec.get("leaderWorkerTemplate") or {}).get(f"{role}Template") or {}
    return spec.get("template") or {}


def count_pods(cr: Resource, observed: Observed) -> int:
    """How many pods the workload is to have as it is; without one, as if it had one replica."""
    spec = (live_workload(cr, observed) or {}).get("spec") or {}
    if is_kserve(cr):
        return int((spec.get("predictor") or {}).get("minReplicas", 1))
    replicas = int(spec.get("replicas", 1))
    return replicas * pipeline_size(cr) if is_multi_node(cr) else replicas


def replica_counts(deployment: t.Mapping[str, t.Any]) -> tuple[int, int, int]:
    """How many replicas a Deployment is to have, how many are updated, and how many available."""
    wanted, status = (deployment.get("spec") or {}).get("replicas"), deployment.get("status") or {}
    found = (wanted, status.get("updatedReplicas"), status.get("availableReplicas"))
    wanted, updated, available = (int(count or 0) for count in found)
    return wanted, updated, available


def is_known(cr: Resource, observed: Observed) -> bool:
    """Whether the workload to have was read, whatever the answer."""
    return observed.has(object_key(*workload_of(cr)))


def has_workload(cr: Resource, observed: Observed, workload: Workload) -> bool:
    """Whether this resource has it, and will have it for some time."""
    live = observed.object(*workload)
    return (
        live is not None
        and is_controlled_by(live, cr)
        and not live["metadata"].get("deletionTimestamp")
    )


def selector_labels(workload: Workload) -> Labels:
    """What tells the pods that serve: all of a Deployment's, the leaders of groups."""
    role = {"nim-llm-role": LEADER} if workload.kind == GROUPS else {}
    return {"app": workload.name, **role}
