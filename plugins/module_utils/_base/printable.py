# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Makes text safe to show: bounded, and without control characters."""

from __future__ import annotations

import typing as t


def printable(text: str, limit: int) -> str:
    """The printable characters of a text, at most ``limit`` of them."""
    return "".join(char for char in text if char.isprintable())[:limit]


def name_some(names: t.Sequence[str], limit: int) -> str:
    """The first names, at most ``limit``, and the number of the others."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"
