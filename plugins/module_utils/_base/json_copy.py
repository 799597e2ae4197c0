# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Copies of JSON values."""

from __future__ import annotations

import typing as t

T = t.TypeVar("T")

_CONTAINERS = (dict, list)


def copy_json(value: T) -> T:
    """A copy with lists and maps of its own, several times as fast as `copy.deepcopy`."""
    return t.cast(T, _copy(value))


def _copy(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        copied = dict(value)
        for key, item in copied.items():
            if isinstance(item, _CONTAINERS):
                copied[key] = _copy(item)
        return copied
    if isinstance(value, list):
        return [_copy(item) if isinstance(item, _CONTAINERS) else item for item in value]
    return value
