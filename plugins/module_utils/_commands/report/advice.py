# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Advice about problems: the rows of the tables in docs/user/troubleshooting.md."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "advice.json"
"""Written by hack/generate_advice.py."""

_CODE = re.compile(r"`([^`]+)`")
_STATES = {"Ready", "NotReady", "Failed", "Pending", "InProgress", "Terminating"}
_CONDITIONS = {"Reconciling", "Stalled"}
_WORD = re.compile(r"[A-Z][A-Za-z]+")
_NEMO, _PODS = "NeMo services", "Why pods are not ready"
_NOTHING = "Nothing happens at all"
_MAX = 3


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
    """All rows."""
    return tuple(Advice(**row) for row in json.loads(_FILE.read_text()))


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
