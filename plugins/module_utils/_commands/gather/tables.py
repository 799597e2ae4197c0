# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hides table columns with a heading that suggests a credential."""

from __future__ import annotations

import re
import typing as t

from .confusables import fold
from .sensitive_names import HINTS, MARK, may_hide

_HINT = re.compile(rf"(?i){HINTS}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]*(?:Z|[+-]\d\d:\d\d) ")
_NAME = re.compile(r"[\"']?[A-Za-z_][\w./-]{0,40}(?: [\w./-]{1,40}){0,2}[\"']?")
_WORDS = re.compile(r"(?:[A-Za-z_./#()-]{1,40}\d{0,2}(?: |\Z)){1,3}")
_CELL = re.compile(r"\S+(?: \S+)*")
"""A cell of an aligned table: at least two spaces separate cells."""

_RULE = re.compile(r"(?=[^\n]*[-=])[-=+|: \t]+")
_LONGEST_HEADING = 1000
_LONGEST_ROW = 1 << 16
_SPLIT = r"(?:\"(?:[^\"\n]|\"\")*\"|'[^'\n]*'|[^{by}\n\"'])*"

Cell = tuple[int, int]


class _Columns(t.Protocol):
    def find(self, row: str, is_last: bool) -> list[Cell] | None:
        """The cells to hide in a row; None if the row is not part of this table."""


def hide_columns(text: str) -> str:
    """Hide values below a sensitive heading in CSV, TSV, aligned tables and similar."""
    parts: list[str] = []
    done = start = 0
    folded = fold(text)
    while hint := _HINT.search(folded, start):
        first = text.rfind("\n", start, hint.start()) + 1 or start
        end = _line_end(text, hint.start())
        start = end
        columns = _find_columns(folded[first:end]) if end - first < _LONGEST_HEADING else None
        while columns and start < len(text):
            end = _line_end(text, start + 1)
            row = text[start + 1 : end]
            time = _TIME.match(row)
            begin = time.end() if time else 0
            cells = columns.find(row[begin:], end == len(text))
            if cells is None or end - start > _LONGEST_ROW:
                break
            for left, right in cells:
                parts += [text[done : start + 1 + begin + left], MARK]
                done = start + 1 + begin + right
            start = end
    return "".join([*parts, text[done:]])


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _find_columns(line: str) -> _Columns | None:
    """The columns below this line, if the line is a heading with a sensitive name."""
    time = _TIME.match(line)
    heading = line[time.end() if time else 0 :].rstrip("\r")
    for by in ("|", "\t", ",", ";"):
        names = [name.strip() for name in heading.split(by)]
        if len(names) > 1 and all(_NAME.fullmatch(name) for name in names if name or by != "|"):
            hidden = {number for number, name in enumerate(names) if _may_hide(name)}
            return _Divided(by, len(names), hidden) if hidden else None
    cells = [(found.start(), found.end()) for found in _CELL.finditer(heading)]
    names = [heading[begin:end] for begin, end in cells]
    if len(cells) > 1 and all(_WORDS.fullmatch(name) for name in names):
        hidden = {number for number, name in enumerate(names) if _may_hide(name)}
        is_setting = hidden == {0} and not all(name[0].isupper() for name in names)
        return _Aligned(cells, hidden) if hidden and not is_setting else None
    return None


def _may_hide(name: str) -> bool:
    name = name.strip("\"'")
    return may_hide(name) or may_hide(name.replace(" ", "_"))


class _Divided:
    """Columns with a separator character."""

    def __init__(self, by: str, count: int, hidden: set[int]) -> None:
        self._by, self._count, self._hidden = by, count, hidden
        self._field = re.compile(_SPLIT.format(by=re.escape(by)))

    def find(self, row: str, is_last: bool) -> list[Cell] | None:
        """The cells to hide in a row as wide as the heading; the last row may be cut off."""
        if _RULE.fullmatch(row.rstrip("\r")):
            return []
        cells: list[Cell] = []
        at = 0
        while at <= len(row):
            cell = self._field.match(row, at)
            stop = cell.end() if cell else at
            if stop < len(row) and row[stop] != self._by:
                stop = row.find(self._by, stop)
                stop = len(row) if stop < 0 else stop
            cells.append((at, stop))
            at = stop + 1
        if len(cells) != self._count and not (is_last and len(cells) > 1):
            return None
        found = [_strip(row, cell) for number, cell in enumerate(cells) if number in self._hidden]
        return [cell for cell in found if _is_shown(row, cell)]


class _Aligned:
    """Columns by position; values may be longer than the heading."""

    def __init__(self, headings: list[Cell], hidden: set[int]) -> None:
        self._headings, self._hidden = headings, hidden

    def find(self, row: str, is_last: bool) -> list[Cell] | None:
        """The cells with the index of a hidden column, or below its heading."""
        del is_last
        row = row.rstrip("\r")
        cells = [(found.start(), found.end()) for found in _CELL.finditer(row)]
        if _RULE.fullmatch(row) and cells:
            return []
        hidden = [
            cell
            for number, cell in enumerate(cells)
            if (number in self._hidden and len(cells) == len(self._headings))
            or self._is_below(cell)
        ]
        if len(cells) < 2 and (not hidden or not row[:1].isspace()):
            return None
        if any(_may_hide(row[begin:end]) for begin, end in hidden):  # a list of settings
            return None
        return [cell for cell in hidden if _is_shown(row, cell)]

    def _is_below(self, cell: Cell) -> bool:
        return any(
            cell[0] < self._headings[number][1] and cell[1] > self._headings[number][0]
            for number in self._hidden
        )


def _strip(row: str, cell: Cell) -> Cell:
    inner = row[cell[0] : cell[1]]
    left = len(inner) - len(inner.lstrip())
    return cell[0] + left, cell[0] + left + len(inner.strip())


def _is_shown(row: str, cell: Cell) -> bool:
    text = row[cell[0] : cell[1]]
    return bool(text.strip("-: \"'")) and text != MARK
