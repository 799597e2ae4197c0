# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The types that the pure functions of a kind exchange: desired objects, outcome, assessment.

`kind.py` describes these functions.
"""

from __future__ import annotations

import enum
import typing as t
from dataclasses import dataclass, field

from .._base.errors import FINAL, NAME_TAKEN, NimError
from .._base.types import Json, Manifest
from .observed import Observed


@dataclass(frozen=True)
class Child:
    """One desired object.

    ``create_only``: created when absent, and never changed (Job). ``shared``:
    belongs to no single custom resource, so it has no owner reference.
    ``merged``: its content includes content of the live object, so it is only written onto that
    version; a newer version is a race. ``applied``: the part of the manifest that server-side apply
    accepts, if that is not all of it; an existing object that lacks the rest of its spec gets it by
    a merge patch.
    """

    manifest: Manifest
    create_only: bool = False
    shared: bool = False
    merged: bool = False
    applied: Manifest | None = None

    @property
    def to_apply(self) -> Manifest:
        """The manifest to pass to server-side apply."""
        return self.manifest if self.applied is None else self.applied


class FieldPolicy(enum.Enum):
    """How to treat a field of a foreign object.

    `TAKE_BACK`: remove it when it is no longer wanted, unless another manager has set it since.
    `LEAVE`: keep it when it is no longer wanted. `FILL`: set it only if it is empty, and keep it.
    """

    TAKE_BACK = "take back"
    LEAVE = "leave"
    FILL = "fill"


ABSENT: t.Final = object()
"""The value of a field to remove, regardless of its manager."""


@dataclass(frozen=True)
class Field:
    """A field of a foreign object, by path; a ``value`` of None means no longer wanted."""

    path: tuple[str, ...]
    value: t.Any
    policy: FieldPolicy = FieldPolicy.TAKE_BACK


@dataclass(frozen=True)
class Patch:
    """Fields to set on a foreign object, which we never create, adopt or delete.

    ``live``: the observed object; its metadata is sufficient if no other field is patched.
    """

    kind: str
    live: Manifest
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Eviction:
    """A pod to evict, regardless of its owner.

    The eviction API honors PodDisruptionBudgets. ``is_deletion``: delete the pod instead, because
    it must be replaced, such as a pod of a DaemonSet with the update strategy OnDelete.
    """

    live: Manifest
    is_deletion: bool = False


@dataclass(frozen=True)
class Desired:
    """The children in the order to write them, and (kind, name) of unwanted children.

    ``namespace``: the namespace of the unwanted children, by default that of the custom resource's
    children. ``failure``: why the list is incomplete; the children in it are still written.
    ``patches``: fields to set on objects of other owners. ``evictions``: pods to evict after all
    writes. ``orphaned``: like ``unwanted``, but their dependents stay: pods keep running without
    their DaemonSet. ``shared_unwanted``: like ``unwanted``, but objects that the resources of a
    namespace share: they have the operator's label, and no owner. ``are_independent``: the children
    are separate applications, so a refused one does not stop the others.
    """

    children: list[Child] = field(default_factory=list)
    unwanted: list[tuple[str, str]] = field(default_factory=list)
    failure: NimError | None = None
    patches: list[Patch] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    namespace: str = ""
    orphaned: list[tuple[str, str]] = field(default_factory=list)
    shared_unwanted: list[tuple[str, str]] = field(default_factory=list)
    are_independent: bool = False


@dataclass(frozen=True)
class Refusal:
    """An object that was not written: a conflict, or a refusal of the API server.

    ``reason``: `NAME_TAKEN` if it has another owner, or refers to such an object; otherwise empty.
    """

    kind: str
    name: str
    message: str
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """The result of writing the children.

    ``written``: the objects as the API server returned them, by key. ``deleted``: keys of the
    pruned objects. ``raced``: keys of objects that appeared, vanished or were replaced between the
    read and the write; nothing was written, and the next pass sees the current ones. ``failure``:
    the message of an error that ended the run before or while writing, and ``failure_reason`` the
    reason it maps to. ``held``: why a PodDisruptionBudget blocks the eviction of pods, by key.
    """

    written: dict[str, Manifest] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    failure: str = ""
    failure_reason: str = "Failed"
    raced: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        """Whether the pass failed for a reason that retrying cannot fix."""
        return bool(self.failure) and self.failure_reason in FINAL

    @property
    def is_contested(self) -> bool:
        """Whether a name of ours is taken by another owner, whose changes no watch reports."""
        reasons = {refusal.reason for refusal in self.refusals}
        return NAME_TAKEN in reasons or (self.is_final and self.failure_reason == NAME_TAKEN)

    def view(self, observed: Observed) -> Observed:
        """The observed answers, updated with the written and deleted objects."""
        return Observed({**observed.answers, **self.written, **dict.fromkeys(self.deleted)})


@dataclass(frozen=True)
class Event:
    """An event on the custom resource; ``kind`` is Normal or Warning."""

    kind: str
    reason: str
    message: str


@dataclass(frozen=True)
class Trigger:
    """An annotation to set on another custom resource, to trigger its reconcile.

    ``namespace``: by default that of the current resource.
    """

    kind: str
    name: str
    key: str
    value: str
    namespace: str = ""


@dataclass(frozen=True)
class StatusPatch:
    """Fields to set in the status of another custom resource, identified as in a `Trigger`.

    They were computed from that resource at ``version`` (its resourceVersion) and are written only
    if it is unchanged, so they never undo what its own reconcile writes. The result is not
    reported: the next pass reads the resource and decides from its current state.
    """

    kind: str
    name: str
    version: str
    status: Json
    namespace: str = ""


@dataclass(frozen=True)
class Requeue:
    """Whether to reconcile again without an event, and how soon.

    ``after``: something will change that no watch reports: requeue soon, then at growing intervals.
    ``slow``: less often, because a pass occupies a worker for long, or a change should trigger one
    anyway. ``wake_on_child``: hardly ever, where changes of a child's status trigger a pass.
    ``follow``: twice a minute in addition, as a pod reports its progress.
    """

    after: bool = False
    slow: bool = False
    wake_on_child: bool = False
    follow: bool = False


NO_REQUEUE = Requeue()


@dataclass(frozen=True)
class Assessment:
    """The status and events to report, and when to reconcile next.

    ``status``: the whole new status; conditions set in this pass have no times. ``triggers``:
    annotations that trigger the reconcile of other resources. ``error``: the run must fail with
    this message, so that the runtime retries. ``source``: the source of the events, by
    default the kind's controller. ``gauges``: numbers that the operator serves as metrics.
    """

    status: Json
    events: list[Event] = field(default_factory=list)
    triggers: list[Trigger] = field(default_factory=list)
    requeue: Requeue = NO_REQUEUE
    error: str = ""
    patches: list[StatusPatch] = field(default_factory=list)
    source: str = ""
    gauges: t.Mapping[str, int] = field(default_factory=dict)
