# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The entries of `spec.services`: which NIMServices they ask for, and which of them cannot be."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

Resource = t.Mapping[str, t.Any]

SERVICE = "NIMService"

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_NAME = 253


@dataclass(frozen=True)
class Entry:
    """One entry, by its index in the list."""

    index: int
    fields: t.Mapping[str, t.Any]

    @property
    def where(self) -> str:
        """Its path in the custom resource."""
        return f"spec.services[{self.index}]"

    @property
    def name(self) -> str:
        """The name of its NIMService, empty if it has none."""
        return str(self.fields.get("name") or "")

    @property
    def is_enabled(self) -> bool:
        """Whether the NIMService shall be there."""
        return bool(self.fields.get("enabled"))

    @property
    def has_valid_name(self) -> bool:
        """Whether an object can bear the name; it becomes part of the path of a request."""
        return len(self.name) <= _MAX_NAME and bool(_NAME.fullmatch(self.name))


@dataclass(frozen=True)
class Problem:
    """Why an entry is not served as it stands; ``reason`` is the condition's."""

    entry: Entry
    reason: str
    message: str


def entries_of(cr: Resource) -> list[Entry]:
    """All entries, in order."""
    services = (cr.get("spec") or {}).get("services") or []
    return [Entry(index, fields) for index, fields in enumerate(services)]


def enabled_entries(cr: Resource) -> dict[str, Entry]:
    """The entries that are switched on, by name; of several of one name, the last one counts."""
    last = {entry.name: entry for entry in entries_of(cr)}
    return {name: entry for name, entry in last.items() if name and entry.is_enabled}


def served_entries(cr: Resource) -> dict[str, Entry]:
    """Those of which there can be a NIMService."""
    return {name: entry for name, entry in enabled_entries(cr).items() if entry.has_valid_name}


def find_problems(cr: Resource) -> list[Problem]:
    """What is wrong with names."""
    last = {entry.name: entry for entry in entries_of(cr)}
    found = (_problem_of(entry, last[entry.name]) for entry in entries_of(cr))
    return [problem for problem in found if problem]


def _problem_of(entry: Entry, last: Entry) -> Problem | None:
    """What is wrong with the name of an entry, given the last one of that name."""
    where = f"{entry.where}.name"
    if not entry.name:
        text = f"{where}: missing; say what the NIMService shall be called"
        return Problem(entry, "NameMissing", text) if entry.is_enabled else None
    if last.index != entry.index:
        text = (
            f'{where}: "{entry.name}" stands in {last.where} again, and the last one counts: rename'
            " or remove one of them"
        )
        return Problem(entry, "NameDuplicate", text)
    if entry.is_enabled and not entry.has_valid_name:
        text = (
            f'{where}: "{entry.name}" cannot be the name of a NIMService: use lower-case letters,'
            " digits and dashes"
        )
        return Problem(entry, "NameInvalid", text)
    return None
