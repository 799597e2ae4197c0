# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Makes untrusted text safe to show: bounded, and without control characters."""

from __future__ import annotations


def printable(text: str, limit: int) -> str:
    """The printable characters of a text, at most ``limit`` of them."""
    return "".join(char for char in text if char.isprintable())[:limit]
