# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMServices and their replicas, to find the replicas that a drain removes.

A replica is a pod or a group of pods (LeaderWorkerSet); a group is lost with any of its pods.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Manifest
from ..._builders.pod import has_ended, is_pod_ready
from ..._engine.conditions import find_condition
from .pods import is_leaving

Name = tuple[str, str]

_NAME = "app.kubernetes.io/name"
_PART_OF = "app.kubernetes.io/part-of"
_SERVICE = "nim-service"
_GROUP = "leaderworkerset.sigs.k8s.io/group-key"
_SET = "leaderworkerset.sigs.k8s.io/name"
GROUP_PODS = _SET


@dataclass(frozen=True)
class Replica:
    """A replica of a NIMService: one pod, or the pods of a group."""

    pods: tuple[Manifest, ...]

    @property
    def is_ready(self) -> bool:
        """Whether all its pods are ready."""
        return all(is_pod_ready(pod) and not is_leaving(pod) for pod in self.pods)

    @property
    def is_unschedulable(self) -> bool:
        """Whether a pod of the replica is unschedulable."""
        return any(_is_unschedulable(pod) for pod in self.pods)

    @property
    def is_leaving(self) -> bool:
        """Whether a pod of the replica is being deleted."""
        return any(is_leaving(pod) for pod in self.pods)

    @property
    def nodes(self) -> set[str]:
        """The nodes of its pods."""
        return {node for pod in self.pods if (node := node_of(pod))}

    def has(self, pod: Manifest) -> bool:
        """Whether a pod belongs to the replica."""
        return any(pod["metadata"]["name"] == item["metadata"]["name"] for item in self.pods)


@dataclass(frozen=True)
class Service:
    """A NIMService; ``wanted``: the replica count of its workloads."""

    namespace: str
    name: str
    wanted: int
    replicas: tuple[Replica, ...]

    def __str__(self) -> str:
        return f"NIMService {self.namespace}/{self.name}"

    @property
    def ready(self) -> int:
        """The number of ready replicas."""
        return sum(replica.is_ready for replica in self.replicas)

    def others(self, lost: t.Callable[[Replica], bool]) -> list[Replica]:
        """The replicas that are neither lost nor being deleted."""
        return [item for item in self.replicas if not lost(item) and not item.is_leaving]


class Services:
    """The NIMServices that have pods with GPUs."""

    def __init__(self, pods: t.Iterable[Manifest], workloads: t.Iterable[Manifest]) -> None:
        wanted: dict[Name, int] = {}
        for item in workloads:
            if name := _service_of(item):
                replicas = (item.get("spec") or {}).get("replicas")
                count = 1 if replicas is None else int(replicas)
                wanted[name] = wanted.get(name, 0) + (count if _has_devices(item) else 0)
        self._groups: dict[Name, Name] = {}
        found: dict[Name, dict[str, list[Manifest]]] = {}
        pods = [pod for pod in pods if not has_ended(pod)]
        for pod in pods:
            if (name := _service_of(pod)) and (group := _group_of(pod)):
                self._groups[group] = name
        for pod in pods:
            if (name := self._name(pod)) and _has_devices(pod):
                key = (_group_of(pod) or ("", pod["metadata"]["name"]))[1]
                found.setdefault(name, {}).setdefault(key, []).append(pod)
        self._services = {
            name: Service(
                *name,
                max(wanted.get(name, 0), len(replicas) if name not in wanted else 0),
                tuple(Replica(tuple(items)) for items in replicas.values()),
            )
            for name, replicas in found.items()
        }

    def __iter__(self) -> t.Iterator[Service]:
        return iter(self._services.values())

    def __bool__(self) -> bool:
        return bool(self._services)

    def of(self, pod: Manifest) -> Service | None:
        """The service that a pod belongs to."""
        name = self._name(pod)
        return self._services.get(name) if name else None

    def _name(self, pod: Manifest) -> Name | None:
        group = _group_of(pod)
        return _service_of(pod) or (self._groups.get(group) if group else None)


def node_of(pod: Manifest) -> str:
    """The node of a pod; empty if it is not scheduled."""
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _service_of(item: Manifest) -> Name | None:
    labels = item["metadata"].get("labels") or {}
    if labels.get(_PART_OF) != _SERVICE or not labels.get(_NAME):
        return None
    return item["metadata"].get("namespace", ""), labels[_NAME]


def _group_of(pod: Manifest) -> Name | None:
    key = (pod["metadata"].get("labels") or {}).get(_GROUP)
    return (pod["metadata"].get("namespace", ""), key) if key else None


def _has_devices(item: Manifest) -> bool:
    """Whether a pod, or a workload's pod, requests devices; an endpoint picker does not."""
    return any(
        pod.get("resourceClaims")
        or any(
            "nvidia.com/" in name
            for container in pod.get("containers") or []
            for name in (container.get("resources") or {}).get("limits") or {}
        )
        for pod in _pod_specs(item.get("spec") or {})
    )


def _pod_specs(spec: Manifest) -> list[Manifest]:
    groups = spec.get("leaderWorkerTemplate")
    if groups:
        kinds = ("leaderTemplate", "workerTemplate")
        return [(groups.get(kind) or {}).get("spec") or {} for kind in kinds]
    return [(spec.get("template") or {}).get("spec") or {}] if "template" in spec else [spec]


def _is_unschedulable(pod: Manifest) -> bool:
    found = find_condition((pod.get("status") or {}).get("conditions"), "PodScheduled") or {}
    return found.get("status") == "False" and found.get("reason") == "Unschedulable"
