# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-memory simulation of a driver upgrade, in which every action of the cluster succeeds.

An evicted pod is replaced, scheduled on a node with enough free GPUs, and becomes ready. A deleted
driver pod is replaced by one with the newest driver. Budgets are computed like in the disruption
controller.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._base.json_copy import copy_json
from ..._base.quantity import parse_quantity
from ..._base.types import Json
from ..._builders.pod import has_ended, is_pod_ready
from ..._cluster.simulated import apply_merge_patch
from ..._engine.disruption import budgets_of, why_held
from ..._engine.label_selector import Selector, parse_selector
from ..._engine.metadata import controller_of
from ..._engine.patches import merge_patch_of
from ..._gpu.upgrade import labels
from ..._gpu.upgrade.pods import claims_of, is_of_daemon_set
from ..._gpu.upgrade.revisions import Revisions, hash_of
from ..._gpu.upgrade.services import Services, node_of
from ..._gpu.upgrade.snapshot import Node, UpgradeSnapshot, drivers_by_node
from ..._gpu.upgrade.step import Step

_DRIVERS = parse_selector(labels.DRIVER_PODS, "")
_VALIDATORS = parse_selector(labels.VALIDATOR_PODS, "")
_PLANNED = "planned"
_READY = {
    "phase": "Running",
    "conditions": [
        {"type": "PodScheduled", "status": "True"},
        {"type": "Ready", "status": "True"},
    ],
    "containerStatuses": [{"name": "all", "ready": True, "restartCount": 0}],
}
_SUCCESSOR = {"kind": "DaemonSet", "name": _PLANNED, "uid": _PLANNED, "controller": True}
"""The assumed DaemonSet that replaces an orphaned driver pod."""
_UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


class StepResult(t.NamedTuple):
    """Whether a step changed anything, and the pods that it ended."""

    has_changed: bool
    ended: list[Json]


@dataclass
class SimulatedUpgrade:
    """Simulated cluster; nodes and pods are in outline. ``now``: seconds since 1970."""

    nodes: list[Json]
    pods: list[Json]
    revisions: list[Json]
    budgets: list[Json] = field(default_factory=list)
    workloads: list[Json] = field(default_factory=list)
    claims: list[Json] = field(default_factory=list)
    now: int = 1
    is_guarded: bool | None = None
    _replaced: int = 0

    def snapshot(self, owner: str | None = None) -> UpgradeSnapshot:
        """Take a snapshot for the upgrade; ``owner``: see `UpgradeSnapshot`."""
        services = Services(self.pods, self.workloads)
        by_node: dict[str, list[Json]] = {item["metadata"]["name"]: [] for item in self.nodes}
        for pod in self.pods:
            by_node.setdefault(node_of(pod), []).append(pod)
        claims = {
            (item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
            for item in self.claims
        }
        return UpgradeSnapshot(
            nodes=tuple(Node(item) for item in self.nodes),
            drivers=drivers_by_node(
                [pod for pod in self.pods if _is(pod, _DRIVERS)], Revisions(self.revisions)
            ),
            validators={
                node: [pod for pod in pods if _is(pod, _VALIDATORS)]
                for node, pods in by_node.items()
            },
            pods=by_node,
            claims=claims,
            budgets=tuple(self.budgets),
            services=services,
            now=self.now,
            is_guarded=bool(services) if self.is_guarded is None else self.is_guarded,
            owner=owner,
        )

    def outdate(self) -> None:
        """Add a new revision to each driver DaemonSet, so that all driver pods are outdated."""
        owners = {
            owner["uid"]: (owner, pod["metadata"].get("namespace", ""))
            for pod in self.pods
            if _is(pod, _DRIVERS) and (owner := controller_of(pod))
        }
        newest = max((int(item.get("revision") or 0) for item in self.revisions), default=0)
        for owner, namespace in owners.values():
            metadata = {
                "name": f"{owner['name']}-{_PLANNED}",
                "namespace": namespace,
                "labels": {labels.REVISION: _PLANNED},
                "ownerReferences": [owner],
            }
            self.revisions.append({"metadata": metadata, "revision": newest + 1, "data": {}})

    def apply(self, step: Step) -> StepResult:
        """Apply a step, and simulate the reaction of the cluster."""
        has_written = self._write(step)
        ended = [
            pod
            for item in step.evictions
            if (pod := self._end(item.live, is_deletion=item.is_deletion))
        ]
        self.now += 1
        has_settled = self._settle()
        return StepResult(has_written or bool(ended) or has_settled, ended)

    def finish(self, node: str, selector: Selector) -> bool:
        """Complete the jobs that a node waits for; return whether there are any."""
        found = [
            pod
            for pod in self.pods
            if node_of(pod) == node
            and not has_ended(pod)
            and selector.selects(pod["metadata"].get("labels"))
        ]
        for pod in found:
            pod["status"] = {"phase": "Succeeded"}
        return bool(found)

    def gpus_free(self, node: Json) -> int:
        """Return the number of unused GPUs of a node."""
        allocatable = ((node.get("status") or {}).get("allocatable")) or {}
        name = node["metadata"]["name"]
        used = sum(gpus_of(pod) for pod in self.pods if node_of(pod) == name and not has_ended(pod))
        return sum(_amount(allocatable, key) for key in allocatable if _is_gpu(key)) - used

    def _write(self, step: Step) -> bool:
        known = {item["metadata"]["name"]: index for index, item in enumerate(self.nodes)}
        for patch in step.patches:
            body = merge_patch_of(patch)
            if body is not None:
                index = known[body["metadata"]["name"]]
                wanted: Json = {key: body[key] for key in ("metadata", "spec") if key in body}
                self.nodes[index] = apply_merge_patch(self.nodes[index], wanted)
        return bool(step.patches)

    def _end(self, live: Json, *, is_deletion: bool) -> Json | None:
        """End a pod and return it; None if a budget holds it or it is gone."""
        pod = next((item for item in self.pods if _same(item, live)), None)
        if pod is None or (not is_deletion and why_held(pod, self.budgets)):
            return None
        self.pods.remove(pod)
        if controller_of(pod) is not None or is_deletion:
            self._replace(pod)
        self._count_budgets()
        return pod

    def _replace(self, pod: Json) -> None:
        self._replaced += 1
        metadata = copy_json(pod["metadata"])
        metadata["name"] = f"{metadata['name'].rpartition('-')[0] or 'pod'}-new{self._replaced}"
        metadata.pop("uid", None)
        fresh = {**copy_json(pod), "metadata": metadata}
        if _is(pod, _DRIVERS) and controller_of(pod) is None:
            metadata["ownerReferences"] = [dict(_SUCCESSOR)]
        elif is_of_daemon_set(pod):
            owner = (controller_of(pod) or {}).get("uid")
            own = [x for x in self.revisions if (controller_of(x) or {}).get("uid") == owner]
            if own:
                newest = max(own, key=lambda item: int(item.get("revision") or 0))
                metadata.setdefault("labels", {})[labels.REVISION] = hash_of(newest)
        else:
            fresh["spec"].pop("nodeName", None)
        fresh["status"] = {"phase": "Pending"}
        self.pods.append(fresh)

    def _settle(self) -> bool:
        """Schedule pods, and make scheduled pods ready."""
        has_changed = False
        for pod in self.pods:
            phase = (pod.get("status") or {}).get("phase")
            if has_ended(pod) or (phase == "Running" and is_pod_ready(pod)):
                continue
            if node_of(pod):
                pod["status"] = copy_json(_READY)
                has_changed = True
            elif place := self._find_node(pod):
                pod["spec"]["nodeName"] = place
                pod["status"] = {"phase": "Pending"}
                has_changed = True
            elif pod["status"].get("conditions") != [_UNSCHEDULABLE]:
                pod["status"] = {"phase": "Pending", "conditions": [dict(_UNSCHEDULABLE)]}
                has_changed = True
        self._count_budgets()
        return has_changed

    def _find_node(self, pod: Json) -> str:
        """Choose the node with the fewest free GPUs that fits a pod; empty if none does."""
        needs = gpus_of(pod)
        wanted = (pod.get("spec") or {}).get("nodeSelector") or {}
        fitting = [
            (free, node["metadata"]["name"])
            for node in self.nodes
            if not Node(node).is_cordoned
            and Node(node).is_ready
            and wanted.items() <= (node["metadata"].get("labels") or {}).items()
            and (free := self.gpus_free(node)) >= needs
        ]
        return min(fitting)[1] if fitting else ""

    def _count_budgets(self) -> None:
        for budget in self.budgets:
            pods = [pod for pod in self.pods if budget in budgets_of(pod, [budget])]
            status = budget.setdefault("status", {})
            healthy = sum(is_pod_ready(pod) for pod in pods)
            status["currentHealthy"] = healthy
            wanted = status.get("desiredHealthy")
            if isinstance(wanted, int):
                status["disruptionsAllowed"] = max(0, healthy - wanted)


def gpus_of(pod: Json) -> int:
    """Return the number of GPUs or MIG devices of a pod; a device claim counts as one."""
    limits = (
        (item.get("resources") or {}).get("limits") or {}
        for item in (pod.get("spec") or {}).get("containers") or []
    )
    found = sum(_amount(named, key) for named in limits for key in named if _is_gpu(key))
    return found + len(claims_of(pod))


def _is_gpu(name: str) -> bool:
    return name.startswith(("nvidia.com/gpu", "nvidia.com/mig-"))


def _amount(amounts: Json, key: str) -> int:
    try:
        return int(parse_quantity(str(amounts.get(key))))
    except ValueError:
        return 0


def _is(pod: Json, selector: Selector) -> bool:
    return selector.selects(pod["metadata"].get("labels"))


def _same(one: Json, other: Json) -> bool:
    return all(
        one["metadata"].get(key) == other["metadata"].get(key) for key in ("namespace", "name")
    )
