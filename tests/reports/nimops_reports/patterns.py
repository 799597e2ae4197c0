# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Patterns that expected data must match; pure.

A mapping matches one that has at least its keys; each element of a list matches any element;
null matches what is absent or empty; anything else must be equal. Words replace a pattern:

    $has      each of these texts is part of the value
    $lacks    none of these texts is
    $is       equal as a whole
    $none     no element matches
    $all      each element matches, and there is one
    $count    the number of elements
"""

from __future__ import annotations

import json
import typing as t

Pattern = t.Any

SHOWN = 400


def find_mismatches(pattern: Pattern, actual: t.Any, where: str = "it") -> list[str]:
    """Where and why the data do not match; empty if they do."""
    if is_words(pattern):
        problems = [WORDS[word](part, actual) for word, part in pattern.items()]
        return [f"{where} {problem}" for problem in problems if problem]
    if pattern is None:
        return [] if actual in (None, "", {}, []) else [f"{where} is {_show(actual)}"]
    if isinstance(pattern, dict) and isinstance(actual, dict):
        parts = pattern.items()
        return [
            x
            for key, part in parts
            for x in find_mismatches(part, actual.get(key), f"{where}.{key}")
        ]
    if isinstance(pattern, list):
        return [problem for part in pattern for problem in _find_in(part, actual, where)]
    is_equal = pattern == actual and isinstance(pattern, bool) == isinstance(actual, bool)
    return [] if is_equal else [f"{where} is {_show(actual)}, not {_show(pattern)}"]


def is_words(pattern: Pattern) -> bool:
    """Whether a pattern consists of words; ValueError if a word is unknown or beside keys."""
    words = isinstance(pattern, dict) and any(str(key).startswith("$") for key in pattern)
    if words and (unknown := [str(key) for key in pattern if key not in WORDS]):
        raise ValueError(f"unknown words: {', '.join(unknown)}")
    return words


def as_list(actual: t.Any) -> list[t.Any]:
    return actual if isinstance(actual, list) else [] if actual is None else [actual]


def _find_in(part: Pattern, actual: t.Any, where: str) -> list[str]:
    """Why no element matches: the problems of the one with the fewest."""
    found = [find_mismatches(part, item, where) for item in as_list(actual)]
    return min(found, key=len) if found else [f"{where} has no {_show(part)}"]


def _text(value: t.Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def _show(value: t.Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _has(part: t.Any, actual: t.Any) -> str:
    missing = [text for text in as_list(part) if text not in _text(actual)]
    return f"is {_show(actual)}, without {_show(missing)}" if missing else ""


def _lacks(part: t.Any, actual: t.Any) -> str:
    present = [text for text in as_list(part) if text in _text(actual)]
    return f"is {_show(actual)}, with {_show(present)}" if present else ""


def _is(part: t.Any, actual: t.Any) -> str:
    return "" if part == actual else f"is {_show(actual)}, not {_show(part)}"


def _none(part: Pattern, actual: t.Any) -> str:
    found = [item for item in as_list(actual) if not find_mismatches(part, item)]
    return f"has {_show(found[0])}" if found else ""


def _all(part: Pattern, actual: t.Any) -> str:
    found = [find_mismatches(part, item, "one") for item in as_list(actual)]
    return "; ".join(x for problems in found for x in problems[:2]) if found else "is empty"


def _count(part: t.Any, actual: t.Any) -> str:
    count = len(as_list(actual))
    return "" if count == part else f"has {count} elements, not {part}"


WORDS: dict[str, t.Callable[[t.Any, t.Any], str]] = {
    "$has": _has, "$lacks": _lacks, "$is": _is, "$none": _none, "$all": _all, "$count": _count,
}  # fmt: skip
