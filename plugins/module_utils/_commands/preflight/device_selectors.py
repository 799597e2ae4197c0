# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Evaluates the CEL expressions that select devices, as far as they are usual.

Supported: `device.driver`, `device.attributes` and `device.capacity` of a domain, `has`, literals,
comparisons, `&&`, `||`, `!`, `in`, versions and quantities with `compareTo`, `isGreaterThan` and
`isLessThan`, and the functions of strings except regular expressions.
"""

from __future__ import annotations

import json
import operator
import re
import typing as t
from decimal import Decimal

from ..._base.quantity import parse_quantity
from ..._base.types import Fields, Json

_MAX_LENGTH = 10 << 10
"""The maximum length of an expression in Kubernetes."""
_MAX_DEPTH = 40
_TOKEN = re.compile(
    r'\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<text>"(?:[^"\\]|\\.)*"|\'[^\'\\]*\')'
    r"|(?P<name>[A-Za-z_]\w*)|(?P<symbol>&&|\|\||[<>=!]=|[<>!()\[\].,]))"
)
_COMPARISONS: dict[str, t.Callable[[t.Any, t.Any], t.Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SEMVER = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


class UnsupportedError(Exception):
    """The expression has a part that is not evaluated here."""


class MissingError(Exception):
    """The device has no such attribute: in Kubernetes an error, so the device is not allocated."""


class _Domains:
    """`device.attributes` or `device.capacity`; a key without a domain has that of the driver."""

    def __init__(self, driver: str, fields: Fields) -> None:
        self.found: dict[str, Json] = {}
        for key, value in fields.items():
            domain, slash, name = str(key).partition("/")
            domain, name = (domain, name) if slash else (driver, domain)
            self.found.setdefault(domain, {})[name] = _value_of(value)


def evaluate(expression: str, driver: str, device: Fields) -> bool:
    """Whether the expression selects a device of a ResourceSlice."""
    if len(expression) > _MAX_LENGTH:
        raise UnsupportedError
    root = {
        "driver": driver,
        "attributes": _Domains(driver, device.get("attributes") or {}),
        "capacity": _Domains(driver, device.get("capacity") or {}),
    }
    parser = _Parser(_tokenize(expression), root)
    try:
        found = parser.parse()
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise UnsupportedError from error
    return _boolean(found)


def _tokenize(text: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match:
            raise UnsupportedError
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        position = match.end()
    return tokens


def _value_of(given: t.Any) -> t.Any:
    if not isinstance(given, dict) or len(given) != 1:
        if isinstance(given, dict) and "value" in given:
            return parse_quantity(given["value"])
        raise UnsupportedError
    ((kind, value),) = given.items()
    if kind == "version":
        return _version(value)
    return parse_quantity(value) if kind == "value" else value


def _version(text: str) -> tuple[t.Any, ...]:
    match = _SEMVER.fullmatch(str(text))
    if not match:
        raise UnsupportedError
    suffix = match[4]
    parts = [(0, int(it), "") if it.isdigit() else (1, 0, it) for it in (suffix or "").split(".")]
    return (*(int(match[number]) for number in (1, 2, 3)), suffix is None, tuple(parts))


def _boolean(value: t.Any) -> bool:
    if isinstance(value, MissingError):
        raise value
    if not isinstance(value, bool):
        raise UnsupportedError
    return value


class _Parser:
    """Parses and evaluates at once. A missing attribute is a value, `MissingError`, until used."""

    def __init__(self, tokens: list[tuple[str, str]], device: Json) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._device = device

    def parse(self) -> t.Any:
        found = self._either()
        if self._at < len(self._tokens):
            raise UnsupportedError
        return found

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        found = self._peek()
        if not found or (wanted and found not in wanted):
            raise UnsupportedError
        self._at += 1
        return found

    def _either(self) -> t.Any:
        """Alternatives; as in CEL, one that decides the result hides an error of another."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UnsupportedError
        values = [self._both()]
        while self._peek() == "||":
            self._take()
            values.append(self._both())
        self._depth -= 1
        return _combine(values, decisive=True)

    def _both(self) -> t.Any:
        values = [self._compare()]
        while self._peek() == "&&":
            self._take()
            values.append(self._compare())
        return _combine(values, decisive=False)

    def _compare(self) -> t.Any:
        left = self._unary()
        symbol = self._peek()
        if symbol not in _COMPARISONS and symbol != "in":
            return left
        self._take()
        right = self._unary()
        for value in (left, right):
            if isinstance(value, MissingError):
                return value
        if symbol == "in":
            if isinstance(right, _Domains):
                return left in right.found
            return left in right
        if type(left) is not type(right):
            raise UnsupportedError
        return _COMPARISONS[symbol](left, right)

    def _unary(self) -> t.Any:
        if self._peek() == "!":
            self._take()
            value = self._unary()
            return value if isinstance(value, MissingError) else not _boolean(value)
        value = self._primary()
        while self._peek() in (".", "["):
            value = self._member(value)
        return value

    def _primary(self) -> t.Any:
        kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
        self._at += 1
        if text == "(":
            value = self._either()
            self._take(")")
            return value
        if text == "[":
            return self._list()
        if kind == "number":
            return int(text)
        if kind == "text":
            return json.loads(text) if text[0] == '"' else text[1:-1]
        known = {"true": True, "false": False, "device": self._device}
        return known[text] if text in known else self._call(text)

    def _list(self) -> list[t.Any]:
        values = []
        while self._peek() != "]":
            values.append(self._either())
            if self._peek() != "]":
                self._take(",")
        self._take("]")
        return values

    def _call(self, name: str) -> t.Any:
        self._take("(")
        value = self._either()
        self._take(")")
        if name == "has":
            return not isinstance(value, MissingError)
        if name == "semver":
            return _version(value)
        if name == "quantity":
            return parse_quantity(value)
        raise UnsupportedError

    def _member(self, value: t.Any) -> t.Any:
        if self._take() == "[":
            key = self._either()
            self._take("]")
            return _field(value, key)
        name = self._take()
        if self._peek() != "(":
            return _field(value, name)
        self._take("(")
        argument = None if self._peek() == ")" else self._either()
        self._take(")")
        if isinstance(value, MissingError):
            return value
        return _method(value, name, argument)


def _field(value: t.Any, name: str) -> t.Any:
    if isinstance(value, MissingError):
        return value
    if isinstance(value, _Domains):
        return value.found.get(name, {})
    if not isinstance(value, dict):
        raise UnsupportedError
    return value[name] if name in value else MissingError()


def _method(value: t.Any, name: str, argument: t.Any) -> t.Any:
    if isinstance(value, str):
        return _string_method(value, name, argument)
    is_ordered = isinstance(value, (Decimal, tuple))
    if not is_ordered or type(value) is not type(argument):
        raise UnsupportedError
    order = int(value > argument) - int(value < argument)
    results = {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}
    if name not in results:
        raise UnsupportedError
    return results[name]


def _string_method(value: str, name: str, argument: t.Any) -> t.Any:
    if name in ("lowerAscii", "upperAscii") and argument is None:
        return value.lower() if name == "lowerAscii" else value.upper()
    methods: dict[str, t.Callable[[str], bool]] = {
        "contains": value.__contains__,
        "endsWith": value.endswith,
        "startsWith": value.startswith,
    }
    if name not in methods or not isinstance(argument, str):
        raise UnsupportedError
    return methods[name](argument)


def _combine(values: list[t.Any], *, decisive: bool) -> t.Any:
    if len(values) == 1:
        return values[0]
    known = [value for value in values if not isinstance(value, MissingError)]
    if any(_boolean(value) is decisive for value in known):
        return decisive
    missing = [value for value in values if isinstance(value, MissingError)]
    return missing[0] if missing else not decisive
