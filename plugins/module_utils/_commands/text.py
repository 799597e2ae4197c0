# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plans and tables as readable text."""

from __future__ import annotations

import typing as t
from collections import Counter

from .._base.types import Json
from .._engine.api_resources import ObjectKey as Key
from .plan.diff import ADOPT, CHANGE, CREATE, DELETE, Change, to_yaml
from .render.simulation import SimulationResult

_SIGNS = {CREATE: "+", CHANGE: "~", ADOPT: "=", DELETE: "-"}
_SUMMARY = {
    CREATE: "to create",
    CHANGE: "to change",
    ADOPT: "to take over",
    DELETE: "to delete",
}


def name_of(key: Key) -> str:
    """Kind, namespace and name in readable form."""
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def write_plan(changes: t.Sequence[Change], simulated: SimulationResult) -> str:
    """A plan: a line for each object, a diff below each changed object, and a summary."""
    lines = []
    for change in changes:
        tail = "  (its pods are replaced)" if change.restarts else ""
        lines.append(f"{_write_change(change)}{tail}")
        if change.action == CHANGE:
            lines += [f"    {line}" for line in change.diff().splitlines()]
    for sign, texts in (("!", simulated.problems), ("#", simulated.notes)):
        for key, found in texts.items():
            lines += [f"{sign} {name_of(key)}: {text}" for text in found]
    return "\n".join([*lines, summarize(changes)])


def write_changes(changes: t.Sequence[Change]) -> str:
    """A line for each object, and a summary."""
    return "\n".join([*map(_write_change, changes), summarize(changes)])


def to_diff(change: Change) -> Json:
    """A change in the format of Ansible's diff mode."""
    name = name_of(change.key)
    return {
        "before": to_yaml(change.before),
        "after": to_yaml(change.after),
        "before_header": name,
        "after_header": f"{name} ({change.action})",
    }


def _write_change(change: Change) -> str:
    return f"{_SIGNS[change.action]} {change.action} {name_of(change.key)}"


def summarize(changes: t.Sequence[Change]) -> str:
    """The number of objects per action."""
    if not changes:
        return "no changes"
    counts = Counter(change.action for change in changes)
    parts = [f"{counts[action]} {words}" for action, words in _SUMMARY.items() if counts[action]]
    restarts = sum(change.restarts for change in changes)
    return ", ".join(parts) + (f"; pods of {restarts} are replaced" if restarts else "")


def write_table(columns: t.Sequence[str], rows: t.Sequence[t.Sequence[str]]) -> str:
    """Rows in aligned columns, in kubectl's style."""
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
