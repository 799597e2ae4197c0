# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Kubernetes conditions. `stamp` adds the times when the status is written."""

from __future__ import annotations

import typing as t

from .._base.types import Fields

Condition = dict[str, t.Any]

READY = "Ready"
RECONCILING = "Reconciling"
STALLED = "Stalled"
PAUSED = "Paused"
"""The condition type, the reason and the event while a resource is paused."""

MAX_MESSAGE = 32768

_SHOWN = (
    (PAUSED, "True"),
    ("Failed", "True"),
    ("Error", "True"),
    (STALLED, "True"),
    (READY, "False"),
    (RECONCILING, "True"),
)
_SHOWN_WHILE_READY = ((PAUSED, "True"), (STALLED, "True"), (RECONCILING, "True"))


def condition(kind: str, status: bool, reason: str, message: str = "") -> Condition:
    """One condition without times."""
    return {
        "type": kind,
        "status": "True" if status else "False",
        "reason": reason,
        "message": message[:MAX_MESSAGE],
    }


def find_condition(conditions: t.Sequence[Condition] | None, kind: str) -> Condition | None:
    """The condition of a type, or None; skips malformed items, which foreign objects may have."""
    items = conditions if isinstance(conditions, (list, tuple)) else ()
    found = (item for item in items if isinstance(item, dict) and item.get("type") == kind)
    return next(found, None)


def find_reason(status: Fields) -> tuple[str, str]:
    """Reason and message of a problem, which a Ready resource may also have; else two empty texts.

    It depends on the types of the conditions, not on their order.
    """
    is_ready = status.get("state") == READY
    for kind, wanted in _SHOWN_WHILE_READY if is_ready else _SHOWN:
        found = find_condition(status.get("conditions"), kind)
        if found and found.get("status") == wanted and found.get("reason"):
            return str(found["reason"]), " ".join(str(found.get("message") or "").split())
    return "", ""


def set_condition(conditions: t.Sequence[Condition] | None, new: Condition) -> list[Condition]:
    """The list with ``new`` replacing the condition of its type, or appended."""
    merged = [new if item.get("type") == new["type"] else item for item in conditions or []]
    return merged if find_condition(merged, new["type"]) is new else [*merged, new]


def drop_condition(conditions: t.Sequence[Condition] | None, *kinds: str) -> list[Condition]:
    """The list without these types."""
    return [item for item in conditions or [] if item.get("type") not in kinds]


def set_progress(
    conditions: t.Sequence[Condition] | None,
    *,
    reconciling: tuple[str, str] | None = None,
    stalled: tuple[str, str] | None = None,
) -> list[Condition]:
    """Set the kstatus pair; each is a (reason, message) and is listed only while it is true."""
    kept = drop_condition(conditions, RECONCILING, STALLED)
    for kind, progress in ((RECONCILING, reconciling), (STALLED, stalled)):
        if progress:
            kept.append(condition(kind, True, *progress))
    return kept


def stamp(
    conditions: t.Sequence[Condition],
    previous: t.Sequence[Condition] | None,
    now: str,
    generation: int,
) -> list[Condition]:
    """The conditions with lastTransitionTime and observedGeneration.

    The time is kept from ``previous`` while the condition's status stays the same. ``now`` is RFC
    3339 in UTC. A condition that already has a time was not set in this pass and is not changed.
    """
    stamped = []
    for item in conditions:
        if "lastTransitionTime" in item:
            stamped.append(item)
            continue
        old = find_condition(previous, item["type"])
        same = old is not None and old.get("status") == item["status"]
        since = (old or {}).get("lastTransitionTime") if same else None
        stamped.append(
            item | {"lastTransitionTime": since or now, "observedGeneration": generation}
        )
    return stamped
