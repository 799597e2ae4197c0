# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""YAML as tools of Kubernetes read it: what it says as JSON.

Plain `yes` and `off` are booleans, `0o17` and `1_000` integers, `1e-4` is a number, a date is text,
and keys are strings. Other than there, integers keep all their digits.
"""

from __future__ import annotations

import json
import re
import typing as t

from .bounded_yaml import read_bounded

_MAX_TEXT, _MAX_DEPTH = 2**18, 32
"""Ten times what is usual; more would occupy a worker for seconds."""
_MAX_NUMBER = 64
_MAX_EXACT = 2**53
"""Up to here, a float is written as an integer if it is one."""


def _spelled(*words: str) -> set[str]:
    return {said for word in words for said in (word, word.capitalize(), word.upper())}


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", *_spelled("null"))),
    **dict.fromkeys(_spelled("y", "yes", "true", "on"), True),
    **dict.fromkeys(_spelled("n", "no", "false", "off"), False),
}
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_OCTAL = re.compile(r"[-+]?0[0-7]+")
_BASED = re.compile(r"[-+]?0([xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
_DECIMAL = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DIGITS = re.compile("([0-9]+)")


def read_json_yaml(text: str) -> t.Any:
    """The data of a text, which nobody has checked; ValueError says what is wrong."""
    if len(text) > _MAX_TEXT:
        raise ValueError(f"it has more than {_MAX_TEXT} characters")
    return read_bounded(text, depth=_MAX_DEPTH, resolve=_resolve)


def is_same_data(one: str, other: str) -> bool:
    """Whether two texts say the same; False if one is invalid."""
    try:
        found = [json.dumps(read_json_yaml(text), sort_keys=True) for text in (one, other)]
    except ValueError:
        return False
    return found[0] == found[1]


def sort_keys(data: t.Any) -> t.Any:
    """The data with sorted keys at every level; `a-8` comes before `a-70`."""
    if isinstance(data, dict):
        return {key: sort_keys(data[key]) for key in sorted(data, key=_order)}
    return [sort_keys(item) for item in data] if isinstance(data, list) else data


def _order(key: str) -> list[tuple[int, str]]:
    """Text and digits take turns; a number is larger if it has more digits."""
    parts = _DIGITS.split(key)
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    return [(len(part) if index % 2 else 0, part) for index, part in enumerate(parts)]


def _resolve(text: str, is_key: bool) -> t.Any:
    """What a plain scalar is; ValueError if JSON has no such value."""
    value = _value(text)
    if not is_key or isinstance(value, str):
        return value
    if value is None:
        raise ValueError("a key is null")
    return json.dumps(value)


def _value(text: str) -> t.Any:
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"{text} is not a number of JSON")
    return _number(text) if text[0] in "+-.0123456789" else text


def _number(text: str) -> int | float | str:
    plain = text.replace("_", "")
    is_based = _BASED.fullmatch(plain)
    if not is_based and not _FLOAT.fullmatch(plain):
        return text
    if len(text) > _MAX_NUMBER:
        raise ValueError(f"a number has more than {_MAX_NUMBER} characters")
    if is_based or _OCTAL.fullmatch(plain):
        value = int(plain, 0 if is_based else 8)
        if -(2**63) <= value < 2**64:
            return value
    if is_based:
        return text
    return int(plain) if _DECIMAL.fullmatch(plain) else _float(plain, text)


def _float(plain: str, text: str) -> int | float | str:
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        return text
    return int(value) if value.is_integer() and abs(value) <= _MAX_EXACT else value
