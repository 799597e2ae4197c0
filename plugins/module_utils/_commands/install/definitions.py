# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Compares a CustomResourceDefinition of a cluster with ours before it is replaced."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..._base.printable import name_some, printable
from ..._base.types import Fields
from ..._builders.app import OPERATOR_VERSION_ANNOTATION

_MAX_SHOWN = 20
_MAX_TEXT = 120
_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_OF_ALL = ("apiVersion", "kind", "metadata")
_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,100}))?")


@dataclass(frozen=True)
class Comparison:
    """The live definition compared with ours.

    ``is_foreign``: another project's, such as the reference operator's. ``newer``: the release that
    it belongs to, if later than ours. ``lost``: API versions and fields that ours does not have.
    """

    name: str
    is_foreign: bool = False
    newer: str = ""
    lost: tuple[str, ...] = ()

    @property
    def obstacle(self) -> str:
        """Why it may not be replaced, with what would be lost; empty if it may."""
        if not self.is_foreign and not self.newer:
            return ""
        if self.is_foreign:
            return f"{self.name} does not belong to nimops.nim; {self._describe_loss()}"
        return f"{self.name} is of the later release {self.newer}; {self._describe_loss()}"

    def _describe_loss(self) -> str:
        if not self.lost:
            return "ours has all its fields"
        return f"ours would lose {name_some(self.lost, _MAX_SHOWN)}"


def compare_definition(live: Fields | None, ours: Fields) -> Comparison:
    """The live definition, None if there is none, compared with ours of the same name."""
    name = str(ours["metadata"]["name"])
    if live is None:
        return Comparison(name)
    if not has_our_status(live):
        return Comparison(name, is_foreign=True, lost=tuple(_lost(live, ours)))
    newer = _version_of(live) if _order(_version_of(live)) > _order(_version_of(ours)) else ""
    return Comparison(name, newer=newer, lost=tuple(_lost(live, ours)) if newer else ())


def has_our_status(definition: Fields) -> bool:
    """Whether a definition has `status.operatorVersion`, which only our operator sets.

    Unlike an annotation, this does not survive if another definition is applied over ours.
    """
    return any(
        "operatorVersion" in _properties(_properties(_schema(version)).get("status"))
        for version in definition["spec"]["versions"]
    )


def _lost(live: Fields, ours: Fields) -> t.Iterator[str]:
    """The versions and fields that only the live definition has."""
    known = {version["name"]: version for version in ours["spec"]["versions"]}
    for version in live["spec"]["versions"]:
        name = version["name"]
        if name not in known:
            yield printable(f"version {name}", _MAX_TEXT)
            continue
        for path in _lost_fields(_schema(version), _schema(known[name]), ""):
            yield printable(path, _MAX_TEXT)


def _lost_fields(live: Fields, ours: Fields, path: str) -> t.Iterator[str]:
    """The paths of fields that only the live schema has; not those below such a field."""
    if ours.get(_UNKNOWN):
        return
    known, others = _properties(ours), ours.get("additionalProperties")
    for name, schema in sorted(_properties(live).items()):
        if not path and name in _OF_ALL:
            continue
        place = f"{path}.{name}".lstrip(".")
        if name in known:
            yield from _lost_fields(schema, known[name], place)
        elif not others:
            yield place
    yield from _lost_values(live, ours, path)


def _lost_values(live: Fields, ours: Fields, path: str) -> t.Iterator[str]:
    """The same for items of lists and values of maps; ``.*`` stands for any key."""
    if isinstance(items := live.get("items"), dict):
        yield from _lost_fields(items, ours.get("items") or {}, f"{path}[]")
    values, kept = live.get("additionalProperties"), ours.get("additionalProperties")
    if (values or live.get(_UNKNOWN)) and not kept:
        yield f"{path}.*"
    elif isinstance(values, dict) and isinstance(kept, dict):
        yield from _lost_fields(values, kept, f"{path}.*")


def _schema(version: Fields) -> Fields:
    return (version.get("schema") or {}).get("openAPIV3Schema") or {}


def _properties(schema: Fields | None) -> Fields:
    return (schema or {}).get("properties") or {}


def _version_of(definition: Fields) -> str:
    annotations = definition["metadata"].get("annotations") or {}
    return str(annotations.get(OPERATOR_VERSION_ANNOTATION) or "")


def _order(version: str) -> tuple[t.Any, ...]:
    """A key that orders semantic versions; any other text comes first."""
    found = _VERSION.fullmatch(version)
    if not found:
        return ()
    *numbers, suffix = found.groups()
    parts = [
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in (suffix or "").split(".")
        if part
    ]
    return (*map(int, numbers), not suffix, parts)
