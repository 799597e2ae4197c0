# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Fields of a spec by their path; objects on the way may be absent or null."""

from __future__ import annotations

import typing as t

from .._base.types import Fields


def block(spec: Fields, *path: str) -> Fields:
    """An object, {} if it is not given."""
    found: t.Any = spec
    for name in path:
        found = found.get(name) or {}
    return t.cast(Fields, found)


def text(spec: Fields, *path: str, default: str = "") -> str:
    """A text, ``default`` if it is not given or empty."""
    return str(block(spec, *path[:-1]).get(path[-1]) or default)


def flag(spec: Fields, *path: str, default: bool = False) -> bool:
    """A switch, ``default`` if it is not given."""
    found = block(spec, *path[:-1]).get(path[-1])
    return default if found is None else bool(found)


def given(spec: Fields, *names: str) -> dict[str, t.Any]:
    """Those of these fields that are given and not empty."""
    return {name: spec[name] for name in names if spec.get(name)}
