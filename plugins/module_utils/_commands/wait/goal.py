# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The goal of a wait, and whether a custom resource has reached it."""

from __future__ import annotations

import enum
import re
import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.printable import printable
from ..._base.types import Fields, Json
from ..._engine.api_resources import identity
from ..._engine.conditions import PAUSED, READY, STALLED, find_condition, find_reason
from ..._engine.metadata import finalizers_of, is_deleted
from ..._engine.pause import is_paused
from ..._engine.status import status_of
from ..progress_bar import write_bar
from ..references import Reference

_DELETION = ("delete", "deleted")
_CONDITION = re.compile(r"(?:condition=)?([A-Za-z][A-Za-z0-9_.-]{0,99})(?:=([A-Za-z]{1,20}))?")
_STATUSES = {"true": "True", "false": "False", "unknown": "Unknown"}
_MAX_TEXT = 1000


@dataclass(frozen=True)
class Goal:
    """A condition with its status or, with an empty ``condition``, a deletion."""

    condition: str = READY
    status: str = "True"

    @property
    def is_deletion(self) -> bool:
        """Whether the resource must be gone."""
        return not self.condition

    def __str__(self) -> str:
        if self.is_deletion:
            return "deleted"
        return self.condition + ("" if self.status == "True" else f"={self.status}")


def parse_goal(text: str) -> Goal:
    """The goal ``Ready``, ``deleted``, ``TYPE[=STATUS]`` or, like kubectl's, ``condition=…``."""
    if text.strip().lower() in _DELETION:
        return Goal(condition="")
    found = _CONDITION.fullmatch(text.strip())
    status = _STATUSES.get((found[2] or "true").lower()) if found else None
    if not found or not status:
        raise NimError(
            f"for: is {printable(text, 100)!r}; use Ready, deleted, or a condition such as"
            " Reconciling=False"
        )
    return Goal(found[1], status)


class Outcome(enum.Enum):
    """Whether a resource has what the user waits for."""

    MET = enum.auto()
    WAITING = enum.auto()
    FAILED = enum.auto()
    """It does not get there without a change by a user."""


class State(t.NamedTuple):
    """A resource as a user sees it while waiting."""

    outcome: Outcome
    state: str = ""
    reason: str = ""
    message: str = ""
    progress: str = ""

    def __str__(self) -> str:
        return ": ".join(part for part in self[1:] if part) or "no status yet"

    def to_dict(self) -> Json:
        """The state as plain data."""
        return {
            "met": self.outcome is Outcome.MET,
            "state": self.state,
            "reason": self.reason,
            "message": self.message,
        }


def judge(goal: Goal, live: Fields | None, uid: str) -> State:
    """The state of a resource that had the ``uid``, or of its absence."""
    if live is None or (uid and live["metadata"].get("uid", uid) != uid):
        outcome = Outcome.MET if goal.is_deletion else Outcome.FAILED
        return State(outcome, "Deleted")
    if is_deleted(live):
        outcome = Outcome.WAITING if goal.is_deletion else Outcome.FAILED
        return State(outcome, "Terminating", "", f"it is being deleted{finalizers_of(live)}")
    state, reason, message = describe(live)
    if goal.is_deletion:
        return State(Outcome.WAITING, state, reason, message or "nothing deletes it yet")
    if _holds(live, goal.condition, goal.status):
        return State(Outcome.MET, state, reason, message)
    if not (reason or message or _is_current(live, {})):
        message = "its status is older than its spec, which nothing reconciled since"
    if is_paused(live):
        kind, _namespace, name = identity(live)
        reason, message = PAUSED, f"it is paused: kubectl nim resume {Reference(kind, name)}"
    is_blocked = is_paused(live) or _holds(live, STALLED, "True")
    outcome = Outcome.FAILED if is_blocked else Outcome.WAITING
    return State(outcome, state, reason, message, write_bar(status_of(live)))


def describe(live: Fields) -> tuple[str, str, str]:
    """State, reason and message of the status; the first is empty before the first pass."""
    status = status_of(live)
    reason, message = find_reason(status)
    shown = (str(status.get("state") or ""), reason, message)
    return t.cast("tuple[str, str, str]", tuple(printable(text, _MAX_TEXT) for text in shown))


def _holds(live: Fields, kind: str, wanted: str) -> bool:
    """Whether a condition has a status, for the spec as it is now.

    The reference operator reports no observedGeneration: its conditions count as they are.
    """
    status = status_of(live)
    found = _find(status.get("conditions"), kind)
    if found is None or found.get("status") != wanted:
        return False
    return _is_current(live, found)


def _is_current(live: Fields, condition: Json) -> bool:
    """Whether the status, or else the condition, is for the spec as it is now."""
    seen = status_of(live).get("observedGeneration") or condition.get("observedGeneration") or 0
    return bool(seen <= 0 or seen >= live["metadata"].get("generation", 0))


def _find(conditions: t.Any, kind: str) -> Json | None:
    """The condition of a type, in any case as in kubectl."""
    names = [item.get("type") for item in conditions or [] if isinstance(item, dict)]
    same = (name for name in names if isinstance(name, str) and name.lower() == kind.lower())
    return find_condition(conditions, next(same, kind))
