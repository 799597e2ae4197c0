# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of a spec that the API accepts and that have no effect, as in the reference."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .._base.types import Fields
from .._engine.desired import Event


@dataclass(frozen=True)
class IgnoredField:
    """A field without effect.

    ``path``: its path below `spec`. ``default``: the value that the API server sets.
    ``instead``: the path of the field that has the effect; if both have the same value, nothing is
    reported. ``why``: the end of the message, by default "use" and that path.
    """

    path: str
    instead: str = ""
    why: str = ""
    default: t.Any = None

    def is_given(self, resource: Fields) -> bool:
        """Whether the resource has a value that a user may expect to have an effect."""
        value = _value_at(resource, f"spec.{self.path}")
        if value in (None, "", [], {}, self.default):
            return False
        return not self.instead or value != _value_at(resource, self.instead)

    @property
    def message(self) -> str:
        """The text of an event, with the remedy."""
        hint = self.why or (f"use {self.instead}" if self.instead else "")
        return f"spec.{self.path} has no effect{hint and f': {hint}'}"


POD_AFFINITY = IgnoredField("podAffinity", "spec.affinity.podAffinity")


def ignored_events(resource: Fields, fields: t.Iterable[IgnoredField]) -> list[Event]:
    """One warning about all given fields without effect."""
    given = [item.message for item in fields if item.is_given(resource)]
    return [Event("Warning", "Ignored", "; ".join(given))] if given else []


def _value_at(resource: Fields, path: str) -> t.Any:
    value: t.Any = resource
    for name in path.split("."):
        value = (value or {}).get(name)
    return value
