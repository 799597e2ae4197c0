# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NIMPipeline; no other module parses its fields."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..._base.types import Fields, Json
from ..._builders.env import env, merge_env

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME = 253


@dataclass(frozen=True)
class Entry:
    """An entry of `spec.services`, by its ``index`` in the list.

    ``name``: of its NIMService, empty if it has none. ``is_enabled``: whether the NIMService should
    exist. ``replicas``: of its spec. ``service_spec``: the spec to send, with the addresses of its
    dependencies, otherwise unread. ``dependencies``: the names of services.
    """

    index: int
    name: str
    is_enabled: bool
    replicas: int | None
    service_spec: Fields
    dependencies: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Its path in the custom resource."""
        return f"spec.services[{self.index}]"

    @property
    def has_valid_name(self) -> bool:
        """Whether the name is a valid object name: it becomes part of a request's path."""
        return len(self.name) <= _MAX_NAME and bool(_NAME.fullmatch(self.name))


@dataclass(frozen=True)
class Spec:
    """The spec of a NIMPipeline: its entries in order."""

    entries: t.Sequence[Entry]


def parse_spec(pipeline: Fields) -> Spec:
    """Parse the spec of a NIMPipeline."""
    services = (pipeline.get("spec") or {}).get("services") or []
    return Spec([_parse_entry(index, given) for index, given in enumerate(services)])


def _parse_entry(index: int, given: Fields) -> Entry:
    dependencies = given.get("dependencies") or []
    return Entry(
        index=index,
        name=str(given.get("name") or ""),
        is_enabled=bool(given.get("enabled")),
        replicas=(given.get("spec") or {}).get("replicas"),
        service_spec=_with_dependencies(_as_stored(given.get("spec") or {}), dependencies),
        dependencies=tuple(str(item["name"]) for item in dependencies if item.get("name")),
    )


def _with_dependencies(spec: Json, dependencies: t.Sequence[Fields]) -> Json:
    for dependency in dependencies:
        name, value = dependency.get("envName"), dependency.get("envValue")
        if name and value:
            spec["env"] = merge_env(spec.get("env") or [], env(**{name: value}))
    return spec


def _as_stored(spec: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The spec with quantities as strings and without an empty profile.

    The reference operator stores this form, so adopting its services does not change them.
    """
    stored = dict(spec)
    for field in ("limits", "requests"):
        amounts = (stored.get("resources") or {}).get(field)
        if amounts:
            text = {name: str(amount) for name, amount in amounts.items()}
            stored["resources"] = {**stored["resources"], field: text}
    cache = (stored.get("storage") or {}).get("nimCache") or {}
    if cache.get("profile") == "":
        kept = {key: value for key, value in cache.items() if key != "profile"}
        stored["storage"] = {**stored["storage"], "nimCache": kept}
    return stored
