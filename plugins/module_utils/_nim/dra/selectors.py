# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""CEL expressions that select suitable devices."""

from __future__ import annotations

import json
import typing as t

from ..._base.errors import NimError
from ..._base.quantity import canonical_quantity
from ..._base.types import Fields
from .validation import check_version

DEFAULT_DRIVER = "gpu.nvidia.com"
MAX_SELECTORS = 32
"""The maximum number of selectors that Kubernetes allows in one request."""

_OPERATORS = {
    "Equal": "==",
    "NotEqual": "!=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
_UNORDERED = {"boolValue": "bool", "stringValue": "string"}
_VALUES = {"boolValue": bool, "intValue": int, "stringValue": str, "versionValue": str}
_PRESENT, _AND = "has(", ") && "
_LIMITS = {"attributeSelectors": 20, "capacitySelectors": 12}


def select(device: Fields, where: str) -> list[str]:
    """The expressions that a device must satisfy; the condition on its driver comes first.

    ``device`` is an entry of `spec.draResources[].claimCreationSpec.devices`, and ``where`` its
    path in errors. NimError if a selector is ambiguous.
    """
    driver = device.get("driverName") or DEFAULT_DRIVER
    first, rest = f"device.driver == {_quote(driver)}", _conditions(device, driver, where)
    if len(rest) < MAX_SELECTORS:
        return [first, *rest]
    return [f"{first} && ({rest[0]})", *rest[1:]]


def _conditions(device: Fields, driver: str, where: str) -> list[str]:
    given = device.get("celExpressions") or []
    selectors = {field: device.get(field) or [] for field in _LIMITS}
    if given and any(selectors.values()):
        raise NimError(
            f"{where}.celExpressions must not be set if attributeSelectors or capacitySelectors"
            " are set"
        )
    if len(given) > MAX_SELECTORS:
        raise NimError(f"{where}.celExpressions: must have at most {MAX_SELECTORS} items")
    found = []
    for field, limit in _LIMITS.items():
        if len(selectors[field]) > limit:
            raise NimError(f"{where}.{field}: must have at most {limit} items")
        for index, selector in enumerate(selectors[field]):
            at = f"{where}.{field}[{index}]"
            domain, name = _split_key(selector, driver, at)
            found.append(_BUILDERS[field](selector, f"[{_quote(domain)}].{name}", at))
    return [*given, *found]


def _split_key(selector: Fields, driver: str, where: str) -> tuple[str, str]:
    """Domain and name of the selected attribute or capacity; the default domain is the driver's."""
    key = selector.get("key") or ""
    domain, slash, name = key.partition("/")
    if not key or (slash and not (domain and name)):
        raise NimError(f"{where}.key: set the name, with or without its domain")
    return (domain, name) if slash else (driver, key)


def _attribute(selector: Fields, path: str, where: str) -> str:
    given = selector.get("value") or {}
    kinds = [kind for kind in _VALUES if given.get(kind) is not None]
    if len(kinds) != 1:
        raise NimError(f"{where}.value: must specify exactly one of {', '.join(_VALUES)}")
    (kind,) = kinds
    if not isinstance(given[kind], _VALUES[kind]) or (
        isinstance(given[kind], bool) and kind != "boolValue"
    ):
        raise NimError(
            f"{where}.value.{kind}: {given[kind]!r} is not of type {_VALUES[kind].__name__}"
        )
    symbol, value = _symbol(selector, where), given[kind]
    if kind in _UNORDERED and symbol not in ("==", "!="):
        raise NimError(
            f'invalid operator "{symbol}" for {_UNORDERED[kind]} type'
            f" ({where}.op: use Equal or NotEqual)"
        )
    attribute = f"device.attributes{path}"
    if kind == "versionValue":
        check_version(selector, where)
        compared = f"({attribute}).compareTo(semver({_quote(value)})) {symbol} 0"
        return _if_present(attribute, compared)
    literal = _quote(value) if kind == "stringValue" else str(value).lower()
    return _if_present(attribute, f"{attribute} {symbol} {literal}")


def _capacity(selector: Fields, path: str, where: str) -> str:
    try:
        amount = canonical_quantity(selector.get("value", ""))
    except ValueError as error:
        raise NimError(f"{where}.value: {error}, use one such as 40Gi") from error
    symbol = _symbol(selector, where)
    capacity = f"device.capacity{path}"
    compared = f"({capacity}).compareTo(quantity({_quote(amount)})) {symbol} 0"
    return _if_present(capacity, compared)


def _if_present(field: str, condition: str) -> str:
    """The condition for a device that has the field.

    On a device without it, the condition alone would be an error, and the scheduler would give up.
    """
    return f"{_PRESENT}{field}{_AND}{condition}"


def without_presence(expression: str) -> str:
    """The condition alone, as the reference operator and our earlier releases write it."""
    head, _and, condition = expression.partition(_AND)
    field = head.removeprefix(_PRESENT)
    return condition if expression == _if_present(field, condition) else expression


_BUILDERS: dict[str, t.Callable[[Fields, str, str], str]] = {
    "attributeSelectors": _attribute,
    "capacitySelectors": _capacity,
}


def _symbol(selector: Fields, where: str) -> str:
    name = selector.get("op") or "Equal"
    if name not in _OPERATORS:
        raise NimError(f"{where}.op: must be one of [{' '.join(_OPERATORS)}]")
    return _OPERATORS[name]


def _quote(text: str) -> str:
    """A CEL string: its escapes are those of JSON, but it does not support surrogates."""
    return json.dumps(text, ensure_ascii=False)
