# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Read fields of a spec by path; parent objects may be absent or null."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.types import Fields

INVALID = "Invalid"
"""Reason of a `SpecError`; the condition Error shows the reason of the reference operator."""


class SpecError(NimError):
    """An error that only a change of the spec resolves, so no pass repeats it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason=INVALID)


def block(spec: Fields, *path: str) -> Fields:
    """An object; {} if it is absent."""
    found: t.Any = spec
    for name in path:
        found = found.get(name) or {}
    return t.cast(Fields, found)


def text(spec: Fields, *path: str, default: str = "") -> str:
    """A string; ``default`` if it is absent or empty."""
    return str(block(spec, *path[:-1]).get(path[-1]) or default)


def flag(spec: Fields, *path: str, default: bool = False) -> bool:
    """A boolean; ``default`` if it is absent."""
    found = block(spec, *path[:-1]).get(path[-1])
    return default if found is None else bool(found)


def given(spec: Fields, *names: str) -> dict[str, t.Any]:
    """The named fields that are set and not empty."""
    return {name: spec[name] for name in names if spec.get(name)}
