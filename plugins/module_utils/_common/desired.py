# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a kind wants of the cluster, and what came of it: the types between the pure functions.

A kind is a package with three pure functions:

``reads(cr, observed) -> list[Read]``
    What to read, given what is known already; asked again until nothing is new.
``desired(cr, observed) -> Desired``
    The children to have, in order, and the ones not to have.
``assess(cr, observed, outcome) -> Assessment``
    The status, events and wake-up that follow from all that.

``cr`` is the custom resource as the API server gives it (its `status` is the one to go on from).
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import FINAL, NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import (
    key_of,
    object_key,
)

Manifest = dict[str, t.Any]


@dataclass(frozen=True)
class Child:
    """One object to have.

    ``create_only``: made when absent, then left alone whatever it says and whoever owns it (PVC,
    Job). ``shared``: belongs to no single custom resource, so it carries no owner reference.
    ``applied``: the part of the manifest that server-side apply can take, if that is not all of it;
    an object that exists and lacks the rest of its spec gets it by a merge patch.
    """

    manifest: Manifest
    create_only: bool = False
    shared: bool = False
    applied: Manifest | None = None

    @property
    def to_apply(self) -> Manifest:
        """What server-side apply is given."""
        return self.manifest if self.applied is None else self.applied


@dataclass(frozen=True)
class Desired:
    """The children in the order in which they are written, and (kind, name) of those unwanted.

    ``failure``: why these are not all, where they are to be had all the same.
    """

    children: list[Child] = field(default_factory=list)
    unwanted: list[tuple[str, str]] = field(default_factory=list)
    failure: NimError | None = None


@dataclass(frozen=True)
class Refusal:
    """An object that could not be written: by us (a conflict) or by the API server."""

    kind: str
    name: str
    message: str


@dataclass(frozen=True)
class Outcome:
    """What came of writing the children.

    ``written``: the objects as the API server returned them, by `object_key`. ``deleted``: keys of
    the pruned ones. ``raced``: keys of those that had appeared, gone or been replaced between
    looking and writing, so that nothing was written; the next pass sees what is there now.
    ``failure``: the text of an error that ended the run before or while writing, and
    ``failure_reason`` the reason it maps to.
    """

    written: dict[str, Manifest] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    failure: str = ""
    failure_reason: str = "Failed"
    raced: list[str] = field(default_factory=list)

    @property
    def is_final(self) -> bool:
        """Whether it failed for a reason that no further try will mend."""
        return bool(self.failure) and self.failure_reason in FINAL

    def overlay(self, answers: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """What was observed, brought up to date with what was written."""
        return {**answers, **self.written, **dict.fromkeys(self.deleted)}


@dataclass(frozen=True)
class Event:
    """An event on the custom resource; ``kind`` is Normal or Warning."""

    kind: str
    reason: str
    message: str


@dataclass(frozen=True)
class Stamp:
    """An annotation to set on another custom resource of the namespace, to wake its reconcile."""

    kind: str
    name: str
    key: str
    value: str


@dataclass(frozen=True)
class StatusPatch:
    """Fields to set in the status of another custom resource of the namespace.

    They were computed from that one as it was observed, at ``version`` (its resourceVersion), and
    are written only if it is still the same, so what its own reconcile writes is never undone.
    Whether they were written is not told: the next pass sees, and decides on what is there then.
    """

    kind: str
    name: str
    version: str
    status: dict[str, t.Any]


@dataclass(frozen=True)
class Assessment:
    """What to tell and when to look again.

    ``status``: the whole new status; conditions without times where they were set in this pass.
    ``in_transit``: something will change that no watch tells of: look again soon, then at growing
    intervals; ``seldom``: not so soon, as a look holds a worker up, or a change should wake by
    itself. ``error``: the run must fail with this text, so that the runtime tries again.
    """

    status: dict[str, t.Any]
    events: list[Event] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    in_transit: bool = False
    seldom: bool = False
    error: str = ""
    patches: list[StatusPatch] = field(default_factory=list)


__all__ = [
    "Assessment",
    "Child",
    "Desired",
    "Event",
    "Manifest",
    "Outcome",
    "Refusal",
    "Stamp",
    "StatusPatch",
    "key_of",
    "object_key",
]
