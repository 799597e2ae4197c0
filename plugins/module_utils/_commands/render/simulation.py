# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Simulates reconciles of custom resources until nothing changes any more.

The simulation runs the same functions as a reconcile, pass after pass, and stores the results in a
simulated cluster. A created Job has succeeded in the next pass. Facts that only a real cluster can
provide are assumed, and noted.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace

from ..._base.types import Json
from ..._cluster.simulated import Ask, SimulatedCluster
from ..._engine.adjust import Adjust
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.api_resources import identity, is_served
from ..._engine.conditions import find_condition
from ..._engine.desired import Child
from ..._engine.observed import Observed
from ..._engine.pause import ANNOTATION, is_paused
from ..._engine.plan import Plan
from ..._engine.reconcile import reconcile
from ..._kinds import kind_of

SIMULATED_UID_PREFIX = "00000000-thought-of:"
"""Prefix of the uid of a simulated custom resource."""

_MAX_PASSES = 20
_PAUSED = f"it is paused: nothing is written until its annotation {ANNOTATION} is removed"


@dataclass(frozen=True)
class Wanted:
    """A desired object and its custom resource."""

    parent: Key
    child: Child


@dataclass
class SimulationResult:
    """The result for custom resources.

    ``wanted``: all desired objects, in the order of creation. ``unwanted``: objects of the base to
    delete. ``problems``: reasons why a custom resource cannot be served; ``notes``: assumptions and
    pending work; both by custom resource.
    """

    wanted: dict[Key, Wanted] = field(default_factory=dict)
    unwanted: list[Key] = field(default_factory=list)
    problems: dict[Key, list[str]] = field(default_factory=dict)
    notes: dict[Key, list[str]] = field(default_factory=dict)


def simulate(
    resources: t.Iterable[Json], base: Ask, adjust: Adjust | None = None
) -> SimulationResult:
    """Simulate these custom resources, and those that they create, in the given cluster."""
    return simulate_in(SimulatedCluster(base, adjust), resources)


def simulate_in(cluster: SimulatedCluster, resources: t.Iterable[Json]) -> SimulationResult:
    """Simulate these custom resources, and those that they create, in a simulated cluster."""
    simulation = _Simulation(cluster)
    for resource in resources:
        simulation.add_resource(resource)
    for _number in range(_MAX_PASSES):
        if not simulation.run_once() and not simulation.assume():
            break
    simulation.drop_owners()
    return simulation.simulated


@dataclass(frozen=True)
class _Settled:
    """A pass that changed nothing: another one would not either, until an answer changes.

    ``number``: of changes in the cluster until then. ``targets``: the objects that it read, and
    ``kinds``: those that it listed.
    """

    number: int
    targets: frozenset[Key | None]
    kinds: frozenset[str]

    def lasts(self, cluster: SimulatedCluster) -> bool:
        """Whether no answer has changed since."""
        later = cluster.changes[self.number :]
        return not any(key in self.targets or key.kind in self.kinds for key in later)


class _Simulation:
    """The passes over all custom resources."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.cluster = cluster
        self.simulated = SimulationResult()
        self._resources: list[Key] = []
        self._assumed: dict[Key, str] = {}
        self._paused: set[Key] = set()
        self._settled: dict[Key, _Settled] = {}

    def add_resource(self, resource: Json) -> None:
        """Include a custom resource from now on."""
        key = identity(resource)
        metadata = resource["metadata"]
        if "uid" not in metadata:
            live = (self.cluster.find(key) or {}).get("metadata") or {}
            metadata = {"uid": live.get("uid") or f"{SIMULATED_UID_PREFIX}{key}", **metadata}
        if is_paused(resource):
            given = metadata["annotations"]
            others = {name: value for name, value in given.items() if name != ANNOTATION}
            metadata = {**metadata, "annotations": others}
            self._paused.add(key)
        self.cluster.put({**resource, "metadata": metadata})
        if key not in self._resources:
            self._resources.append(key)

    def run_once(self) -> bool:
        """Run one pass over all custom resources; returns whether anything changed."""
        cluster, before = self.cluster, len(self.cluster.changes)
        for key in list(self._resources):
            if key in self._settled and self._settled[key].lasts(cluster):
                continue
            number = len(cluster.changes)
            cluster.asked.clear()
            if resource := cluster.find(key):
                self._reconcile(key, resource)
            self._settled.pop(key, None)
            if len(cluster.changes) == number:
                targets = frozenset(read.target for read in cluster.asked)
                kinds = frozenset(read.listed for read in cluster.asked)
                self._settled[key] = _Settled(number, targets, kinds)
        return len(cluster.changes) > before

    def assume(self) -> bool:
        """Assume the status of a pending resource; returns whether there was one."""
        for key in self._resources:
            resource = None if key in self._assumed else self.cluster.find(key)
            status = _assumed_status(resource) if resource else None
            if resource is None or status is None:
                continue
            waits = self.simulated.notes.get(key) or ["it is not Ready"]
            self._assumed[key] = f"assumed {status['state']}, although {waits[0]}"
            self.cluster.put(resource | {"status": status})
            return True
        return False

    def drop_owners(self) -> None:
        """Show objects without the owners that a later pass removed, such as those of kept claims.

        The operator may create only what a resource owns.
        """
        for key, wanted in self.simulated.wanted.items():
            made, manifest = self.cluster.find(key), wanted.child.manifest
            if made is None or made["metadata"].get("ownerReferences"):
                continue
            metadata = {**manifest["metadata"]}
            if metadata.pop("ownerReferences", None):
                child = replace(wanted.child, manifest={**manifest, "metadata": metadata})
                self.simulated.wanted[key] = replace(wanted, child=child)

    def _reconcile(self, key: Key, resource: Json) -> None:
        done = reconcile(kind_of(resource), resource, self.cluster)
        plan = done.plan
        refused = {(item.kind, item.name) for item in plan.refusals}
        for child in done.desired.children:
            wanted = identity(child.manifest)
            is_left = child.create_only and done.answers.get(str(wanted)) is not None
            if not is_left and (wanted.kind, wanted.name) not in refused:
                self._note_wanted(key, wanted, child)
        for reference in plan.prune:
            self._note_unwanted(identity(reference))
        self._note_texts(key, plan, done.report.status)

    def _note_wanted(self, parent: Key, key: Key, child: Child) -> None:
        known = self.simulated.wanted.get(key)
        if known is None or known.child.manifest != child.manifest:
            self.simulated.wanted[key] = Wanted(parent, child)
        if is_served(child.manifest) and (made := self.cluster.find(key)):
            self.add_resource(made)

    def _note_unwanted(self, key: Key) -> None:
        if self.simulated.wanted.pop(key, None) is None:
            self.simulated.unwanted.append(key)

    def _note_texts(self, key: Key, plan: Plan, status: Json) -> None:
        """Record the problems and pending conditions in the status."""
        problems = [plan.failure] if plan.failure else []
        refusals = [item.message for item in plan.refusals]
        problems += [message for message in refusals if message not in plan.failure]
        _keep(self.simulated.problems, key, problems)
        notes = [self._assumed[key]] if key in self._assumed else []
        notes = notes or ([] if problems else _pending_reasons(status))
        paused = [_PAUSED] if key in self._paused else []
        _keep(self.simulated.notes, key, paused + notes)


def _assumed_status(resource: Json) -> Json | None:
    """The status that its kind assumes for this resource, if it is pending."""
    kind = kind_of(resource)
    return kind.assumed_status(kind.app(resource, Observed({}))) if kind.assumed_status else None


def _pending_reasons(status: Json) -> list[str]:
    """The objects that a status waits for and the simulation does not provide."""
    conditions = status.get("conditions")
    failed = find_condition(conditions, "Failed")
    if failed and failed["status"] == "True":
        return [failed["message"]]
    ready = find_condition(conditions, "Ready")
    if ready and ready["status"] == "False" and ready["reason"] not in ("NotReady", "Failed"):
        return [ready["message"]]
    reconciling = find_condition(conditions, "Reconciling")
    if reconciling and status.get("state") != "NotReady":
        return [reconciling["message"]]
    return []


def _keep(texts: dict[Key, list[str]], key: Key, found: list[str]) -> None:
    texts.pop(key, None)
    if found:
        texts[key] = found
