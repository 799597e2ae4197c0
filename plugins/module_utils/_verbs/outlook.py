# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What custom resources will become: reconciles in thought, until nothing moves any more.

The functions of the kinds are asked as a reconcile asks them, pass after pass; what they want is
put into a `World` instead of a cluster. Time passes there, too: a Job that is made has succeeded at
the next look. What only a cluster could tell is assumed, and noted.
"""

from __future__ import annotations

import copy
import typing as t
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Child,
    Desired,
    Outcome,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.plan import Plan, make_plan
from ansible_collections.nimops.nim.plugins.module_utils._common.pvc import claim_name
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    API_VERSION,
    object_key,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import collect
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import finish_status
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import identity
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Ask, Key, World

Json = dict[str, t.Any]

THOUGHT = "00000000-thought-of:"
"""What the uid begins with of a custom resource that no cluster has."""

_MAX_PASSES = 20
_NOW = datetime(2000, 1, 1, tzinfo=UTC)
_SUCCEEDED = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}


@dataclass(frozen=True)
class Wanted:
    """An object to have, and the custom resource that wants it."""

    parent: Key
    child: Child


@dataclass
class Outlook:
    """What custom resources become.

    ``wanted``: all objects to have, in the order in which they are made. ``unwanted``: objects of
    the base that go. ``problems``: what keeps a custom resource from being served, ``notes``: what
    was assumed or is awaited; both by custom resource.
    """

    wanted: dict[Key, Wanted] = field(default_factory=dict)
    unwanted: list[Key] = field(default_factory=list)
    problems: dict[Key, list[str]] = field(default_factory=dict)
    notes: dict[Key, list[str]] = field(default_factory=dict)


def look_ahead(resources: t.Iterable[Json], base: Ask) -> Outlook:
    """What becomes of these custom resources, and of those that they make, in this cluster."""
    thought = _Thought(World(base))
    for resource in resources:
        thought.take_up(resource)
    for _number in range(_MAX_PASSES):
        if not thought.pass_on() and not thought.assume():
            break
    return thought.outlook


class _Thought:
    """The passes over all custom resources."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.outlook = Outlook()
        self._resources: list[Key] = []
        self._assumed: dict[Key, str] = {}
        self._has_moved = False

    def take_up(self, resource: Json) -> None:
        """Follow a custom resource from now on."""
        key = identity(resource)
        metadata = resource["metadata"]
        if "uid" not in metadata:
            live = (self.world.find(*key) or {}).get("metadata") or {}
            metadata = {"uid": live.get("uid") or THOUGHT + "/".join(key), **metadata}
        self.world.put({**resource, "metadata": metadata})
        if key not in self._resources:
            self._resources.append(key)

    def pass_on(self) -> bool:
        """One pass over all; whether anything moved."""
        self._has_moved = False
        for key in list(self._resources):
            if resource := self.world.find(*key):
                self._reconcile(key, resource)
        return self._has_moved

    def assume(self) -> bool:
        """Take a cache for Ready that waits for what only a cluster tells; whether one did."""
        for key in self._resources:
            resource = self.world.find(*key) if key[0] == "NIMCache" else None
            status = (resource or {}).get("status") or {}
            if (
                resource is None
                or key in self._assumed
                or status.get("state")
                in (
                    "Ready",
                    "Failed",
                )
            ):
                continue
            waits = self.outlook.notes.get(key) or ["it is not Ready"]
            self._assumed[key] = f"taken for Ready, although {waits[0]}"
            claim = claim_name(resource)
            self.world.put(resource | {"status": {**status, "state": "Ready", "pvc": claim}})
            return True
        return False

    def _reconcile(self, key: Key, resource: Json) -> None:
        seen = Observed(collect(resource, self.world.ask))
        failure = None
        try:
            wanted = kind_of(resource).desired(resource, seen)
            failure = wanted.failure
        except NimError as error:
            wanted, failure = Desired(), error
        plan = make_plan(resource, wanted, seen)
        refused = {object_key(item.kind, item.name) for item in plan.refusals}
        for child in wanted.children:
            self._have(key, child, seen, refused)
        for reference in plan.prune:
            self._drop(identity(reference))
        self._tell(key, resource, plan, failure)

    def _have(self, parent: Key, child: Child, seen: Observed, refused: set[str]) -> None:
        """Put a child into the world, grown into what may be there already."""
        manifest = child.manifest
        name = object_key(manifest["kind"], manifest["metadata"]["name"])
        live = seen.object(manifest["kind"], manifest["metadata"]["name"])
        if name in refused or (live is not None and child.create_only):
            return
        key = identity(manifest)
        known = self.outlook.wanted.get(key)
        if known is not None and known.child.manifest == manifest:
            return
        self._has_moved = True
        self.outlook.wanted[key] = Wanted(parent, child)
        grown = grow(live or {}, manifest)
        if manifest["kind"] == "Job":
            grown["status"] = copy.deepcopy(_SUCCEEDED)
        if manifest["apiVersion"] == API_VERSION:
            self.take_up(grown)
        else:
            self.world.put(grown)

    def _drop(self, key: Key) -> None:
        self._has_moved = True
        self.world.remove(key)
        if self.outlook.wanted.pop(key, None) is None:
            self.outlook.unwanted.append(key)

    def _tell(self, key: Key, resource: Json, plan: Plan, failure: NimError | None) -> None:
        """Have the status that follows, and note what it says."""
        view = Observed(collect(resource, self.world.ask))
        outcome = Outcome(
            refusals=plan.refusals,
            failure=str(failure or ""),
            failure_reason=failure.reason if failure else "Failed",
        )
        assessment = kind_of(resource).assess(resource, view, outcome)
        status = finish_status(resource, assessment, _NOW)
        if status != resource.get("status"):
            self._has_moved = True
            self.world.put({**resource, "status": status})
        problems = [str(failure)] if failure else []
        problems += [item.message for item in plan.refusals]
        _keep(self.outlook.problems, key, problems)
        notes = [self._assumed[key]] if key in self._assumed else []
        _keep(self.outlook.notes, key, notes or ([] if problems else _awaited(status)))


def grow(live: Json, want: t.Mapping[str, t.Any]) -> Json:
    """The live object with what is wanted; lists are replaced."""
    grown = copy.deepcopy(live)
    for key, value in want.items():
        have = grown.get(key)
        is_map = isinstance(value, dict) and isinstance(have, dict)
        grown[key] = grow(have, value) if is_map else copy.deepcopy(value)  # type: ignore[arg-type]
    return grown


def _awaited(status: Json) -> list[str]:
    """What a status waits for that the world does not bring by itself."""
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
