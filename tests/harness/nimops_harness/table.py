# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What was expected and what was seen: rows of results.json and of the table on stdout; pure but for the file."""

from __future__ import annotations

import json
import textwrap
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

WIDTHS = (28, 46, 60)


@dataclass(frozen=True)
class Row:
    """One attack or fault: what must hold, and what was seen."""

    name: str
    expected: str
    seen: str
    ok: bool


def make_table(rows: t.Iterable[Row]) -> str:
    """Aligned columns, long cells on several lines."""
    cells = [("", "name", "expected", "seen")]
    cells += [("ok" if row.ok else "NOT", row.name, row.expected, row.seen) for row in rows]
    lines = []
    for mark, *texts in cells:
        columns = [
            textwrap.wrap(text, width) or [""] for text, width in zip(texts, WIDTHS, strict=True)
        ]
        for number in range(max(map(len, columns))):
            words = [column[number] if number < len(column) else "" for column in columns]
            padded = [word.ljust(width) for word, width in zip(words, WIDTHS, strict=True)]
            lines.append("  ".join([(mark if number == 0 else "").ljust(3), *padded]).rstrip())
    rule = "  ".join(["---", *("-" * width for width in WIDTHS)])
    return "\n".join([lines[0], rule, *lines[1:]])


def write_rows(path: Path, rows: t.Iterable[Row]) -> None:
    """A list of objects with name, expected, seen, ok; written in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    new.replace(path)


def select(names: t.Sequence[str], wanted: str) -> list[str]:
    """Those of a comma-separated list, in the table's order; ValueError names what there is not."""
    asked = [name.strip() for name in wanted.split(",") if name.strip()]
    if unknown := [name for name in asked if name not in names]:
        raise ValueError(f"no such row: {', '.join(unknown)}; there are {', '.join(names)}")
    return [name for name in names if name in asked]
