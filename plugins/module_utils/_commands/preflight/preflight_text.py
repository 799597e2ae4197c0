# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The checks as a table."""

from __future__ import annotations

import typing as t

from ..text import write_table
from .check import ERROR, LEVELS, OK

_COLUMNS = ("LEVEL", "RESOURCE", "CHECK", "MESSAGE")


def write_checks(checks: t.Sequence[t.Mapping[str, str]]) -> str:
    """A line for each check, its remedy below it, and a summary."""
    rows = [[check[name.lower()] for name in _COLUMNS] for check in checks]
    head, *lines = write_table(_COLUMNS, rows).splitlines()
    shown = [head]
    for check, line in zip(checks, lines, strict=True):
        shown.append(line)
        if check["remedy"]:
            shown.append(f"    → {check['remedy']}")
    return "\n".join([*shown, summarize(checks)])


def summarize(checks: t.Sequence[t.Mapping[str, str]]) -> str:
    """Whether the resources can run, and the number of checks per level."""
    counts = {level: sum(check["level"] == level for check in checks) for level in LEVELS}
    verdict = "cannot run here" if counts[ERROR] else "can run here"
    parts = [_count(level, count) for level, count in reversed(counts.items()) if count]
    return f"{verdict}: {', '.join(parts)}"


def _count(level: str, count: int) -> str:
    return f"{count} {level}" + ("s" if count > 1 and level != OK else "")
