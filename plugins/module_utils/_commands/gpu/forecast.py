# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Forecast of a driver upgrade: runs the controller's steps in a simulation.

The operator and the forecast share the code of a step, so their decisions are the same.
"""

from __future__ import annotations

import typing as t
from dataclasses import asdict, dataclass, field

from ..._base.types import Json
from ..._gpu.upgrade import labels, states
from ..._gpu.upgrade.controller import take_step
from ..._gpu.upgrade.pods import name_of_pod
from ..._gpu.upgrade.policy import UpgradePolicy
from ..._gpu.upgrade.services import Services, node_of
from ..._gpu.upgrade.snapshot import UpgradeSnapshot
from ..._gpu.upgrade.step import Step
from .simulated_upgrade import SimulatedUpgrade, gpus_of

_MAX_STEPS = 20_000
_MAX_WAITS = 5


@dataclass
class NodePlan:
    """Forecast for a node.

    ``order``: the position among the nodes that start, from 1; 0 if it does not start.
    ``meanwhile``: the nodes in progress when it starts. ``evicted``: pods. ``waits``: the events
    that it waits for. ``state``: the final state.
    """

    node: str
    before: str
    state: str = ""
    order: int = 0
    meanwhile: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_stuck: bool = False

    def to_dict(self) -> Json:
        """Return plain data for JSON."""
        return asdict(self)


@dataclass
class ServicePlan:
    """Forecast for a NIMService: its ready replicas before, at the lowest point, and after.

    ``nodes``: the nodes that evict its replicas. ``homeless``: the maximum number of replicas for
    which no node has enough GPUs. ``gpus``: of a replica.
    """

    namespace: str
    name: str
    wanted: int
    before: int
    lowest: int
    after: int = 0
    homeless: int = 0
    gpus: int = 0
    nodes: list[str] = field(default_factory=list)

    def to_dict(self) -> Json:
        """Return plain data for JSON."""
        return asdict(self)


@dataclass
class Forecast:
    """Result of a simulation.

    ``nodes``: nodes that are upgraded, in the order in which they start, then nodes that wait.
    """

    nodes: list[NodePlan]
    services: list[ServicePlan]
    total: int
    is_complete: bool = True

    @property
    def has_work(self) -> bool:
        """Whether any node would be upgraded or waits for its upgrade."""
        return bool(self.nodes)

    @property
    def problems(self) -> list[NodePlan]:
        """The nodes whose upgrade does not complete."""
        return [item for item in self.nodes if item.state != states.DONE]

    def to_dict(self) -> Json:
        """Return plain data for JSON."""
        return {
            "nodes": [item.to_dict() for item in self.nodes],
            "services": [item.to_dict() for item in self.services],
            "total": self.total,
            "is_complete": self.is_complete,
        }


def forecast_upgrade(
    simulation: SimulatedUpgrade, policies: t.Mapping[str | None, UpgradePolicy]
) -> Forecast:
    """Take steps until nothing changes.

    ``policies``: the upgrade policies by the `UpgradeSnapshot.owner` of their nodes.
    """
    record, steps = _Record(), dict[str | None, Step]()
    for _number in range(_MAX_STEPS):
        has_changed = False
        for owner, policy in policies.items():
            snapshot = simulation.snapshot(owner)
            record.count(snapshot.services)
            steps[owner] = step = take_step(snapshot, policy)
            record.note(step, snapshot)
            result = simulation.apply(step)
            record.end(result.ended, snapshot.services)
            has_changed |= result.has_changed
        if not has_changed and not any(
            _advance(simulation, steps[owner], policy) for owner, policy in policies.items()
        ):
            return record.close(simulation, steps.values(), is_complete=True)
    return record.close(simulation, steps.values(), is_complete=False)


def _advance(simulation: SimulatedUpgrade, step: Step, policy: UpgradePolicy) -> bool:
    """Finish jobs, or else advance the time to a limit; return whether either was possible."""
    selector = policy.waiting.selector
    jobs = [item.node.name for item in step.nodes if item.state == states.JOBS]
    if selector and [node for node in jobs if simulation.finish(node, selector)]:
        return True
    limits = {states.POD_DELETION: policy.pod_deletion.seconds}
    limits[states.DRAIN] = policy.drain.seconds if policy.drain else 0
    found = [
        limits[item.state]
        for item in step.nodes
        if limits.get(item.state) and not item.node.is_held
    ]
    simulation.now += max(found, default=0)
    return bool(found)


class _Record:
    """Collects the history of each node and service."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodePlan] = {}
        self._services: dict[str, ServicePlan] = {}
        self._begun = 0

    def count(self, services: Services) -> None:
        """Record the number of ready replicas."""
        for item in services:
            plan = self._services.get(str(item))
            if plan is None:
                size = max((sum(map(gpus_of, x.pods)) for x in item.replicas), default=0)
                plan = ServicePlan(
                    item.namespace, item.name, item.wanted, item.ready, item.ready, gpus=size
                )
                self._services[str(item)] = plan
            plan.after, plan.lowest = item.ready, min(plan.lowest, item.ready)
            homeless = sum(replica.is_unschedulable for replica in item.replicas)
            plan.homeless = max(plan.homeless, homeless)

    def note(self, step: Step, snapshot: UpgradeSnapshot) -> None:
        """Record the nodes that start, and the events that they wait for."""
        for item in step.nodes:
            plan = self._nodes.setdefault(item.node.name, NodePlan(item.node.name, item.node.state))
            if item.node.state in states.RUNNING and not plan.order:
                self._begin(plan, snapshot)
            has_failed = item.node.state == states.FAILED != plan.before  # reported when it failed
            if item.is_held and not has_failed and item.waits not in plan.waits[:_MAX_WAITS]:
                plan.waits.append(item.waits)
            plan.notes += [note for note in item.notes if note not in plan.notes]

    def end(self, pods: t.Iterable[Json], services: Services) -> None:
        """Record the evicted pods and their services."""
        for pod in pods:
            node, service = node_of(pod), services.of(pod)
            if not _is_driver(pod):
                self._nodes[node].evicted.append(name_of_pod(pod).removeprefix("Pod "))
            if service and node not in self._services[str(service)].nodes:
                self._services[str(service)].nodes.append(node)

    def close(
        self, simulation: SimulatedUpgrade, steps: t.Iterable[Step], *, is_complete: bool
    ) -> Forecast:
        """Return the forecast; ``steps``: the final steps, which change nothing."""
        self.count(simulation.snapshot().services)
        ends = [item for step in steps for item in step.nodes]
        for item in ends:
            plan = self._nodes[item.node.name]
            plan.state, plan.is_stuck = item.node.state, bool(item.waits)
            if item.waits and not plan.waits:
                plan.waits.append(item.waits)
        nodes = [
            plan
            for plan in self._nodes.values()
            if plan.order or plan.waits or plan.state not in (states.DONE, states.UNKNOWN)
        ]
        nodes.sort(key=lambda plan: (not plan.order, plan.order, plan.node))
        services = [
            plan for plan in self._services.values() if plan.nodes or plan.lowest < plan.before
        ]
        services.sort(key=lambda plan: (plan.namespace, plan.name))
        return Forecast(nodes, services, len(ends), is_complete)

    def _begin(self, plan: NodePlan, snapshot: UpgradeSnapshot) -> None:
        self._begun += 1
        plan.order = self._begun
        plan.meanwhile = sorted(
            node.name
            for node in snapshot.nodes
            if node.state in states.RUNNING and node.name != plan.node
        )


def _is_driver(pod: Json) -> bool:
    key, _sign, value = labels.DRIVER_PODS.partition("=")
    return bool((pod["metadata"].get("labels") or {}).get(key) == value)
