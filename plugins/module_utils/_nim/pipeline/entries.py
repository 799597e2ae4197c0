# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The entries of `spec.services`, and their problems."""

from __future__ import annotations

from dataclasses import dataclass

from ..._base.errors import TOO_LARGE, NimError
from ..._engine.oversized import stub_error
from .app import NIMPipelineApp
from .spec import Entry

SERVICE = "NIMService"


@dataclass(frozen=True)
class Problem:
    """An obstacle to serving an entry; ``reason`` becomes the condition's reason."""

    entry: Entry
    reason: str
    message: str


def enabled_entries(app: NIMPipelineApp) -> dict[str, Entry]:
    """The enabled entries by name; the last of several entries with the same name counts."""
    last = {entry.name: entry for entry in app.spec.entries}
    return {name: entry for name, entry in last.items() if name and entry.is_enabled}


def served_entries(app: NIMPipelineApp) -> dict[str, Entry]:
    """The enabled entries with a valid name."""
    return {name: entry for name, entry in enabled_entries(app).items() if entry.has_valid_name}


def find_service_excess(app: NIMPipelineApp, name: str) -> NimError | None:
    """The error if a NIMService of the pipeline is too large, otherwise None."""
    live = app.live(SERVICE, name)
    return stub_error(live) if live and app.controls(live) else None


def find_problems(app: NIMPipelineApp) -> list[Problem]:
    """Problems with names, and NIMServices that are too large to read."""
    last = {entry.name: entry for entry in app.spec.entries}
    found = (_problem_of(entry, last[entry.name]) for entry in app.spec.entries)
    large = (
        Problem(entry, f"{SERVICE}{TOO_LARGE}", f"{entry.where}: {SERVICE} {name}: {excess}")
        for name, entry in served_entries(app).items()
        if (excess := find_service_excess(app, name))
    )
    return [*(problem for problem in found if problem), *large]


def _problem_of(entry: Entry, last: Entry) -> Problem | None:
    """The problem with an entry's name, given the last entry of that name."""
    where = f"{entry.where}.name"
    if not entry.name:
        text = f"{where}: missing; set the name of the NIMService"
        return Problem(entry, "NameMissing", text) if entry.is_enabled else None
    if last.index != entry.index:
        text = (
            f'{where}: "{entry.name}" is also in {last.where}, and the last one counts: rename or'
            " remove one of them"
        )
        return Problem(entry, "NameDuplicate", text)
    if entry.is_enabled and not entry.has_valid_name:
        text = (
            f'{where}: "{entry.name}" cannot be the name of a NIMService: use lower-case letters,'
            " digits and dashes"
        )
        return Problem(entry, "NameInvalid", text)
    return None
