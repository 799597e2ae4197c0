# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Label selectors, as text (`app=a,tier in (x,y),!old`) and as the object LabelSelector."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from .._base.errors import NimError
from .._base.types import Fields

_MAX_TEXT = 4096
_KEY = r"[A-Za-z0-9./_-]{1,317}"
_VALUE = r"[A-Za-z0-9._-]{0,63}"
_WHOLE_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_EQUALITY = re.compile(rf"({_KEY}) ?(==|!=|=) ?({_VALUE})")
_SET = re.compile(rf"({_KEY}) (in|notin) ?\(([^()]*)\)")
_EXISTENCE = re.compile(rf"(! ?)?({_KEY})")
_COMMA = re.compile(r",(?![^()]*\))")
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


@dataclass(frozen=True)
class Requirement:
    """One condition; ``operator``: in, notin, exists or !."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: t.Mapping[str, str]) -> bool:
        """Whether labels meet the condition; a missing label is `notin` any set."""
        has = self.key in labels
        return {
            "in": has and labels.get(self.key) in self.values,
            "notin": not has or labels[self.key] not in self.values,
            "exists": has,
            "!": not has,
        }[self.operator]


@dataclass(frozen=True)
class Selector:
    """A selector; without requirements it selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def selects(self, labels: t.Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        return all(item.holds(labels or {}) for item in self.requirements)


def is_label_value(text: str) -> bool:
    """Whether a text can be the value of a label."""
    return _WHOLE_VALUE.fullmatch(text) is not None


def parse_selector(text: str, where: str) -> Selector:
    """The selector in a text; NimError, which names the field ``where``, if it is invalid."""
    if len(text) > _MAX_TEXT:
        raise NimError(f"{where}: is longer than {_MAX_TEXT} characters")
    given = " ".join(text.split())
    if not given:
        return Selector()
    parts = _COMMA.split(given)
    return Selector(tuple(_parse(part.strip(), where) for part in parts))


def selector_of(given: Fields | None) -> Selector | None:
    """The selector of a LabelSelector that an API server accepted; None selects nothing."""
    if given is None:
        return None
    equal = [Requirement(key, "in", (value,)) for key, value in _items(given.get("matchLabels"))]
    more = [
        Requirement(
            item["key"], _OPERATORS.get(item["operator"], "in"), tuple(item.get("values") or ())
        )
        for item in given.get("matchExpressions") or []
    ]
    return Selector(tuple(equal + more))


def _items(labels: t.Mapping[str, str] | None) -> list[tuple[str, str]]:
    return list((labels or {}).items())


def _parse(text: str, where: str) -> Requirement:
    if found := _EQUALITY.fullmatch(text):
        return Requirement(found[1], "notin" if found[2] == "!=" else "in", (found[3],))
    if found := _SET.fullmatch(text):
        values = tuple(value.strip() for value in found[3].split(","))
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Requirement(found[1], found[2], values)
    elif found := _EXISTENCE.fullmatch(text):
        return Requirement(found[2], "!" if found[1] else "exists")
    raise NimError(
        f'{where}: "{text[:100]}" is not a label selector; write such as app=a,tier in (x,y),!old'
    )
