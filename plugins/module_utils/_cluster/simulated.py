# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""An in-memory cluster on top of a read-only one.

It stores the writes of a pass and answers from them. A created Job succeeds by the next read, and
an evicted pod disappears, unless a PodDisruptionBudget blocks the eviction. No other controller is
simulated.
"""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime

from .._base.json_copy import copy_json
from .._base.types import Fields, Json
from .._engine.adjust import Adjust
from .._engine.api_resources import ObjectKey, identity
from .._engine.desired import Assessment, Outcome
from .._engine.disruption import why_held
from .._engine.plan import Plan
from .._engine.reads import Read, ReadObject, ReadObjects
from .._engine.status import SLOW_REQUEUE_SECONDS
from .facts import Objects
from .settings import read_settings

Ask = t.Callable[[Read], t.Any]

_NOW = datetime(2000, 1, 1, tzinfo=UTC)
_SUCCEEDED = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}


class SimulatedCluster:
    """The answers of ``base``, overridden by writes.

    ``changes``: each object that was changed, in order. ``asked``: each read since it was cleared.
    ``adjust``: see `_engine/adjust.py`.
    """

    slow_period = SLOW_REQUEUE_SECONDS
    is_new = False

    def __init__(self, base: Ask, adjust: Adjust | None = None) -> None:
        self.adjust = adjust
        self.changes: list[ObjectKey] = []
        self.asked: list[Read] = []
        self._base = base
        self._changed: dict[ObjectKey, Json | None] = {}
        self._objects = Objects(self._changed)

    def put(self, manifest: Json) -> None:
        """Add this object, or replace the one of the base."""
        key = identity(manifest)
        if self.find(key) != manifest:
            self.changes.append(key)
            self._changed[key] = manifest

    def remove(self, key: ObjectKey) -> None:
        """Remove this object."""
        self.changes.append(key)
        self._changed[key] = None

    def find(self, key: ObjectKey) -> Json | None:
        """The current object."""
        return t.cast("Json | None", self.answer(ReadObject(*key)))

    def settings(self) -> Json:
        """The operator's configuration from the environment."""
        return read_settings()

    def prefetch(self, reads: t.Sequence[Read]) -> None:
        """Nothing to prepare."""

    def answer(self, read: Read) -> t.Any:
        """The answer to a read."""
        self.asked.append(read)
        if read.target in self._changed:
            return self._objects.ask(read)
        found = self._base(read)
        return self._amend(found, read) if read.listed else found

    def write(self, plan: Plan) -> Outcome:
        """Store everything in a plan."""
        for patch in [*plan.adopt, *plan.patch]:
            self._merge(patch)
        written = {}
        for manifest in plan.apply:
            metadata = {
                key: value
                for key, value in manifest["metadata"].items()
                if key not in ("resourceVersion", "uid")
            }
            key = identity(manifest)
            merged = apply_merge_patch(self.find(key) or {}, {**manifest, "metadata": metadata})
            if manifest["kind"] == "Job":
                merged["status"] = copy_json(_SUCCEEDED)
            self.put(merged)
            written[str(key)] = merged
        held = {}
        for reference in plan.evict:
            if why := self._why_held(identity(reference)):
                held[str(identity(reference))] = why
        for reference in plan.orphan:
            self._orphan_dependents(reference["metadata"].get("uid"))
        ended = [identity(item) for item in [*plan.prune, *plan.orphan, *plan.evict]]
        ended = [key for key in ended if str(key) not in held]
        for key in ended:
            self.remove(key)
        return Outcome(
            written,
            [str(key) for key in ended],
            list(plan.refusals),
            plan.failure,
            plan.failure_reason or "Failed",
            held=held,
        )

    def _orphan_dependents(self, uid: str | None) -> None:
        """Remove an owner from all objects that were put here."""
        for item in list(self._changed.values()):
            owners = (item or {}).get("metadata", {}).get("ownerReferences") or []
            left = [owner for owner in owners if owner.get("uid") != uid]
            if item and len(left) < len(owners):
                self.put({**item, "metadata": {**item["metadata"], "ownerReferences": left}})

    def _why_held(self, key: ObjectKey) -> str:
        """Why the eviction of a pod is blocked; empty if it is not."""
        pod = self.find(key)
        budgets = self.answer(ReadObjects("PodDisruptionBudget", key.namespace))
        return why_held(pod, budgets or []) if pod else ""

    def write_status(self, resource: Json, status: Json, _assessment: Assessment) -> bool:
        """Store this status; returns whether it differs. Triggers have no effect."""
        self.put({**resource, "status": status})
        return bool(status != resource.get("status"))

    def refetch(self, resource: Json) -> Json | None:
        """The current resource."""
        return self.find(identity(resource))

    def watches_child(self, _child: Json) -> bool:
        """Always true: nothing changes outside of the simulation."""
        return True

    def now(self) -> datetime:
        """A constant time."""
        return _NOW

    def _merge(self, patch: Json) -> None:
        """Apply a merge patch, except for managedFields, which are not simulated."""
        live = self.find(identity(patch))
        wanted = {key: value for key, value in patch.items() if key != "metadata"}
        wanted["metadata"] = {
            key: value
            for key, value in patch["metadata"].items()
            if key not in ("managedFields", "resourceVersion", "uid")
        }
        if live is not None:
            self.put(apply_merge_patch(live, wanted))

    def _amend(self, found: list[Json] | None, read: Read) -> list[Json] | None:
        """A list of the base, updated with the changes in this cluster."""
        changed: list[Json] = self._objects.ask(read)
        if found is None and not changed:
            return None
        kept = [item for item in found or [] if _key_in(item, read) not in self._changed]
        return kept + changed


def apply_merge_patch(live: Json, want: Fields) -> Json:
    """The live object merged with the wanted one; lists are replaced, and null removes a field."""
    merged = copy_json(live)
    _merge(merged, want)
    return merged


def _merge(merged: Json, want: Fields) -> None:
    for key, value in want.items():
        have = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(have, dict):
            _merge(have, value)
        else:
            merged[key] = copy_json(value)


def _key_in(item: Json, read: Read) -> ObjectKey:
    """The identity of a list item, which may lack its kind."""
    return identity({"kind": read.listed, "metadata": item["metadata"]})
