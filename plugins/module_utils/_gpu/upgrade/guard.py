# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps one replica of each NIMService ready where waiting can achieve that.

A node does not start, and a pod is not evicted, while another replica may still become ready. An
unavoidable loss, such as the only replica of a service, delays nothing.
"""

from __future__ import annotations

import typing as t

from ..._base.types import Manifest
from ..._engine.disruption import why_never_evicted
from . import states
from .pods import gpu_pods, name_of_pod
from .services import Replica, Service
from .snapshot import Node, UpgradeSnapshot


def why_undrainable(snapshot: UpgradeSnapshot, node: Node) -> str:
    """Why the node can never be drained (so do not start); empty if it can."""
    for pod in gpu_pods(snapshot.pods[node.name], snapshot.claims):
        if why := why_never_evicted(pod, snapshot.budgets):
            return f"{name_of_pod(pod)} could not be evicted: {why}"
    return ""


def why_not_begin(
    snapshot: UpgradeSnapshot, node: Node, emptying: t.Collection[str], *, has_running: bool
) -> str:
    """Why a node should not be drained now; empty if it may be.

    ``emptying``: the nodes whose pods are or soon will be evicted. ``has_running``: whether any
    node is being upgraded.
    """
    for service in _services(snapshot, gpu_pods(snapshot.pods[node.name], snapshot.claims)):
        if why := _why_keep(service, node.name, emptying, has_running):
            return why
    return ""


def why_not_evict(snapshot: UpgradeSnapshot, pod: Manifest, chosen: t.Sequence[Manifest]) -> str:
    """Why a pod of a draining node should stay for now; empty if it may go.

    ``chosen``: the other pods that this step evicts.
    """
    service = snapshot.services.of(pod) if snapshot.is_guarded else None
    own = next((item for item in service.replicas if item.has(pod)), None) if service else None
    if service is None or own is None or not own.is_ready:
        return ""

    def is_lost(replica: Replica) -> bool:
        return replica is own or any(replica.has(item) for item in chosen)

    others = service.others(is_lost)
    if any(replica.is_ready for replica in others):
        return ""
    if _may_recover(service, others, len(others) + 1, _is_node_expected(snapshot, own.nodes)):
        return f"{service} has no other ready replica yet"
    return ""


def lost_services(snapshot: UpgradeSnapshot, node: Node) -> list[Service]:
    """The services without a ready replica while a node drains, sorted by name.

    If a node has several replicas of a service, the guard moves them one after the other.
    """
    pods = gpu_pods(snapshot.pods.get(node.name) or [], snapshot.claims)
    return [
        service
        for service in _services(snapshot, pods)
        if service.ready
        and not (snapshot.is_guarded and service.ready > 1)
        and not any(item.is_ready for item in _staying(service, {node.name}))
    ]


def _is_node_expected(snapshot: UpgradeSnapshot, nodes: t.Collection[str]) -> bool:
    """Whether an upgrade of another node may end before an eviction from these nodes.

    Nodes that hold pods may wait for each other, so a node waits only for those sorted before it.
    """
    return any(
        not node.is_held or node.name < min(nodes)
        for node in snapshot.managed
        if node.state in states.RUNNING and node.name not in nodes
    )


def _why_keep(service: Service, node: str, emptying: t.Collection[str], has_running: bool) -> str:
    here = [item for item in service.replicas if item.is_ready and node in item.nodes]
    staying = _staying(service, {node, *emptying})
    if not here or any(item.is_ready for item in staying):
        return ""
    away = _staying(service, {node})
    own = len(service.others(lambda item: node not in item.nodes))
    if any(item.is_ready for item in away):
        return f"{service} has its other ready replicas on nodes that are being drained"
    if _may_recover(service, away, len(away) + own, has_running):
        return f"{service} has no ready replica on another node yet"
    return ""


def _staying(service: Service, nodes: t.Collection[str]) -> list[Replica]:
    return service.others(lambda item: bool(item.nodes & set(nodes)))


def _may_recover(
    service: Service, others: t.Sequence[Replica], present: int, has_running: bool
) -> bool:
    """Whether another replica may become ready without an eviction.

    A replica may not be created yet, or be starting; an unschedulable one is scheduled when a node
    comes back.
    """
    if service.wanted > present:
        return True
    return any(not item.is_unschedulable or has_running for item in others if not item.is_ready)


def _services(snapshot: UpgradeSnapshot, pods: t.Iterable[Manifest]) -> list[Service]:
    found = {str(item): item for pod in pods if (item := snapshot.services.of(pod))}
    return [found[name] for name in sorted(found)]
