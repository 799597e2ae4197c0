# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The progress of a NIMCache's download as a bar."""

from __future__ import annotations

from .._base.json_size import show_size
from .._base.types import Fields

_WIDTH = 20


def write_bar(status: Fields) -> str:
    """The bar, with the bytes if they are known; empty unless a download reports its progress.

    The download is the first one, or that of a renewal.
    """
    renewal = status.get("renewal") or {}
    download = status.get("download") or renewal.get("download") or {}
    percent, done, total = (_count(download, key) for key in ("percent", "bytes", "totalBytes"))
    if percent is None and done is None:
        return ""
    parts = []
    if percent is not None:
        filled = min(percent, 100) * _WIDTH // 100
        parts.append(f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {percent} %")
    if done is not None:
        parts.append(show_size(done) + (f" of {show_size(total)}" if total else ""))
    return ", ".join(parts)


def _count(download: Fields, key: str) -> int | None:
    value = download.get(key)
    return value if isinstance(value, int) and value >= 0 else None
