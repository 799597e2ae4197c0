# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Makes text from outside safe to show: no control characters, and not too long."""

from __future__ import annotations


def printable(text: str, limit: int) -> str:
    """The printable characters of a text, at most ``limit`` of them."""
    return "".join(char for char in text if char.isprintable())[:limit]
