# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A status in the making, of kinds that go from step to step."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.nimops.nim.plugins.module_utils._common.conditions import (
    Condition,
    condition,
    drop_condition,
    find_condition,
    set_condition,
    set_progress,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Assessment,
    Event,
    Stamp,
    StatusPatch,
)

Progress = tuple[str, str]
"""(reason, message)"""


@dataclass
class Draft:
    """The status so far, and what else there is to tell.

    ``is_polled``: look again although nothing is said to be under way; ``is_seldom``: not so soon.
    """

    status: dict[str, t.Any]
    events: list[Event] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    patches: list[StatusPatch] = field(default_factory=list)
    reconciling: Progress | None = None
    stalled: Progress | None = None
    is_polled: bool = False
    is_seldom: bool = False
    error: str = ""

    @property
    def state(self) -> str:
        """The state as it stands."""
        return str(self.status.get("state") or "")

    @property
    def conditions(self) -> list[Condition]:
        """The conditions as they stand."""
        return list(self.status.get("conditions") or [])

    def say(self, kind: str, status: bool, reason: str, message: str = "") -> None:
        """Set a condition; one that says the same already is left as it is."""
        new = condition(kind, status, reason, message)
        old = find_condition(self.conditions, kind)
        if old is None or any(old.get(key) != value for key, value in new.items()):
            self.status["conditions"] = set_condition(self.conditions, new)

    def unsay(self, *kinds: str) -> None:
        """Take conditions away."""
        self.status["conditions"] = drop_condition(self.conditions, *kinds)

    def put(self, key: str, value: t.Any) -> None:
        """Set a field; an empty one is left out."""
        self.status.pop(key, None)
        if value:
            self.status[key] = value

    def fail(self, kind: str, subject: str, message: str) -> None:
        """Say in the condition ``kind`` that the pass failed, and once in an event."""
        old = find_condition(self.conditions, kind) or {}
        if (old.get("status"), old.get("message")) != ("True", message):
            text = f"{subject} reconcile failed, msg: {message}"
            self.events.append(Event("Warning", "ReconcileFailed", text))
        self.say(kind, True, "ReconcileFailed", message)

    def recover(self, kind: str) -> None:
        """Say in the condition ``kind``, if it is there, that the pass did not fail."""
        if find_condition(self.conditions, kind):
            self.say(kind, False, "Reconciled")

    def retry(self, message: str) -> None:
        """Let the run fail, so that the runtime tries again."""
        self.reconciling = ("Retrying", message)
        self.error = message

    def finish(self) -> Assessment:
        """All of it, with the kstatus conditions."""
        conditions = set_progress(
            self.conditions, reconciling=self.reconciling, stalled=self.stalled
        )
        return Assessment(
            status=self.status | {"conditions": conditions},
            events=self.events,
            stamps=self.stamps,
            patches=self.patches,
            in_transit=self.reconciling is not None or self.is_polled,
            seldom=self.is_seldom,
            error=self.error,
        )
