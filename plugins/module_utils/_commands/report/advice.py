# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Advice about problems: the rows of the tables in docs/user/troubleshooting.md.

The page is part of the collection.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parents[4] / "docs/user/troubleshooting.md"
_CODE = re.compile(r"`([^`]+)`")
_STATES = {"Ready", "NotReady", "Failed", "Pending", "InProgress", "Terminating"}
_CONDITIONS = {"Reconciling", "Stalled"}
_WORD = re.compile(r"[A-Z][A-Za-z]+")
_NEMO, _PODS = "NeMo services", "Why pods are not ready"
_NOTHING = "Nothing happens at all"
_MAX = 3
_HEADS = ("state, reason", "message")
_CELLS = 3
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Advice:
    """A row of a table, in Markdown. ``section``: the heading above it."""

    section: str
    cause: str
    meaning: str
    fix: str


@dataclass(frozen=True)
class _Pattern:
    """The conditions of a row: each group needs one match. ``texts``: parts of a message."""

    advice: Advice
    states: frozenset[str]
    reasons: tuple[str, ...]
    texts: tuple[re.Pattern[str], ...]

    def rank(self, state: str, reason: str, message: str) -> int:
        """How specific the match is; 0 for none."""
        if self.states and state not in self.states:
            return 0
        named = [item for item in self.reasons if item == reason or item in message]
        found = [item for item in self.texts if item.search(message)]
        if (self.reasons and not named) or (self.texts and not found):
            return 0
        length = max((len(item.pattern) for item in found), default=0)
        return 1 + 1000 * (bool(named) + bool(found)) + length


def find_advice(kind: str, state: str, reason: str, message: str) -> tuple[Advice, ...]:
    """The most specific row about a resource, and rows about its pods; at most three.

    Without a state, the text about resources that no operator serves.
    """
    if not state:
        return tuple(row for row in load_advice() if row.section == _NOTHING)
    ranked = [
        (rank, pattern.advice)
        for pattern in _patterns()
        if pattern.advice.section == (_NEMO if kind.startswith("Nemo") else kind)
        if (rank := pattern.rank(state, reason, message))
    ]
    best = [max(ranked, key=lambda item: item[0])[1]] if ranked else []
    pods = [
        pattern.advice
        for pattern in _patterns()
        if pattern.advice.section == _PODS and pattern.rank(state, reason, message)
    ]
    return tuple([*best, *pods][:_MAX])


@cache
def load_advice() -> tuple[Advice, ...]:
    """All rows; none if the page was removed from the collection."""
    return tuple(read_advice(_PAGE.read_text("utf-8"))) if _PAGE.is_file() else ()


def read_advice(page: str) -> list[Advice]:
    """The rows of the tables of states and messages, and the section without a table."""
    found, section, is_table = [], "", False
    for line in page.splitlines():
        if line.startswith("#"):
            section, is_table = line.lstrip("# "), False
        cells = [cell.strip() for cell in _CELL_END.split(line.strip()[1:-1])]
        if not line.startswith("|"):
            is_table = False
        elif cells[0] in _HEADS:
            is_table = True
        elif is_table and len(cells) == _CELLS and cells[0].strip("-"):
            found.append(Advice(section, *cells))
    return [*found, *_read_nothing(page)]


def _read_nothing(page: str) -> t.Iterator[Advice]:
    """The advice about resources without a status: a paragraph and its commands."""
    text = page.partition(f"\n## {_NOTHING}\n")[2].partition("\n## ")[0].strip()
    if text:
        commands = " and ".join(f"`{found}`" for found in re.findall(r"(?m)^\$ (.+)", text))
        yield Advice(_NOTHING, "", " ".join(text.partition("\n\n")[0].split()), commands)


@cache
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(found for row in load_advice() if (found := _parse(row)))


def _parse(row: Advice) -> _Pattern | None:
    """The conditions of a row; None if only people can evaluate them."""
    spans = _CODE.findall(row.cause)
    words = [span for span in spans if _WORD.fullmatch(span)]
    reasons = tuple(word for word in words if word not in _STATES | _CONDITIONS)
    texts = tuple(_to_pattern(span) for span in spans if span != "…" and span not in words)
    if row.section == _PODS:  # each span is another way to state the problem
        texts += tuple(_to_pattern(word) for word in words)
        return _Pattern(row, frozenset(), (), texts) if texts else None
    states = frozenset(words) & _STATES
    return _Pattern(row, states, reasons, texts) if states or reasons or texts else None


def _to_pattern(span: str) -> re.Pattern[str]:
    """A part of a message; `…` and numbers stand for any."""
    parts = (re.escape(part) for part in re.split(r"\s*…\s*|\d+", span))
    gaps = (_gap(found) for found in re.findall(r"\s*…\s*|\d+", span))
    return re.compile("".join(_weave(parts, gaps)))


def _gap(text: str) -> str:
    return r"[^\n]{0,500}?" if "…" in text else r"\d{1,9}"


def _weave(parts: t.Iterable[str], gaps: t.Iterable[str]) -> t.Iterator[str]:
    found = iter(gaps)
    for part in parts:
        yield part
        yield next(found, "")
