# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Sizes of data as JSON, and the maximum size of an object."""

from __future__ import annotations

import json
import typing as t

MAX_OBJECT_BYTES = 1 << 20
"""Maximum size of an object to write. etcd stores 1.5 MiB including status and managedFields."""


def json_size(value: t.Any) -> int:
    """The size of data as compact JSON, in bytes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def show_size(size: int) -> str:
    """A number of bytes for messages, such as 1.5 MiB."""
    return f"{round(size / (1 << 20), 1):g} MiB" if size >= 1 << 20 else f"{max(1, size >> 10)} KiB"


def name_largest(sizes: t.Mapping[str, int]) -> str:
    """The largest fields with their sizes: those with at least a quarter of the sum."""
    share = sum(sizes.values()) / 4
    largest = sorted(
        (item for item in sizes.items() if item[1] >= share), key=lambda item: -item[1]
    )
    return " and ".join(f"{field} ({show_size(size)})" for field, size in largest)
