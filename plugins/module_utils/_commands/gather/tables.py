# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hides columns of tables whose heading suggests a credential."""

from __future__ import annotations

import re

from .sensitive_names import HINTS, MARK, may_hide

_FIELD = r"[ \t]{0,8}[\"']?[A-Za-z_][\w .-]{0,40}[\"']?[ \t]{0,8}"
_HEADING = re.compile(
    rf"(?im)^(?:[^\n]{{20,40}}Z )?(?=[^\n]{{0,300}}?(?:{HINTS}))[ \t]*\|?"
    rf"{_FIELD}(?P<by>[,;\t|]){_FIELD}(?:(?P=by){_FIELD}){{0,40}}\|?[ \t]*\r?\n"
)
_SPLIT = r"(?:\"(?:[^\"\n]|\"\")*\"|'[^'\n]*'|[^{by}\n\"'])*"


def hide_columns(text: str) -> str:
    """Of CSV, TSV and the like, the values below a sensitive heading."""
    parts: list[str] = []
    done = start = 0
    while heading := _HEADING.search(text, start):
        start = heading.end()
        by = heading["by"]
        names = [name.strip(" \t\r\n\"'") for name in heading[0].split(by)]
        hidden = {number for number, name in enumerate(names) if may_hide(name)}
        if not hidden:
            continue
        field = re.compile(_SPLIT.format(by=re.escape(by)))
        while line := _next_row(text, start, by, len(names), field):
            parts.append(text[done:start])
            parts.append(by.join(_show(cell, n in hidden) for n, cell in enumerate(line)))
            end = text.find("\n", start)
            done = start = len(text) if end < 0 else end
            start = done = min(len(text), done)
            if done < len(text):
                parts.append("\n")
                start = done = done + 1
    return "".join([*parts, text[done:]])


def _next_row(text: str, start: int, by: str, count: int, field: re.Pattern[str]) -> list[str]:
    """The cells of a row, if it has as many as the heading; the last row may be cut."""
    if start >= len(text):
        return []
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    if end - start > 1 << 16:
        return []
    cells: list[str] = []
    at = start
    while at <= end:
        cell = field.match(text, at, end)
        stop = cell.end() if cell else at
        if stop < end and text[stop] != by:
            stop = text.find(by, stop, end)
            stop = end if stop < 0 else stop
        cells.append(text[at:stop])
        at = stop + 1
    is_cut = end == len(text) and len(cells) > 1
    return cells if len(cells) == count or is_cut else []


def _show(cell: str, is_hidden: bool) -> str:
    text = cell.strip()
    if not is_hidden or not text.strip("-: \"'"):
        return cell
    return cell.replace(text, MARK)
