# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Sizes of data as JSON, and the maximum size of an object."""

from __future__ import annotations

import json
import typing as t

MAX_OBJECT_BYTES = 1 << 20
"""Maximum size of an object to write. etcd stores 1.5 MiB including status and managedFields."""

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def json_size(value: t.Any) -> int:
    """The size of data as compact JSON, in bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def show_size(size: int) -> str:
    """A number of bytes for users, such as 1.5 MiB, in the largest unit of which it has one."""
    count, unit = float(size), 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{round(count, 1):g} {_UNITS[unit]}"


def name_largest(sizes: t.Mapping[str, int]) -> str:
    """The largest fields with their sizes: those with at least a quarter of the sum."""
    share = sum(sizes.values()) / 4
    largest = sorted(
        (item for item in sizes.items() if item[1] >= share), key=lambda item: -item[1]
    )
    return " and ".join(f"{field} ({show_size(size)})" for field, size in largest)
