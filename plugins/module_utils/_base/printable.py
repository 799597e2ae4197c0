# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Makes text safe to show, without control characters."""

from __future__ import annotations

import re
import typing as t

_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,1024}(?:\x07|\x1b\\)|[@-Z\\^_])"
)
"""A sequence that controls a terminal: colors, movements of the cursor, titles."""
_LINE_END = re.compile(r"\r\n?|[\x85\u2028\u2029]")


def printable(text: str, limit: int) -> str:
    """The printable characters of a text, at most ``limit`` of them."""
    return "".join(char for char in text if char.isprintable())[:limit]


def name_some(names: t.Sequence[str], limit: int) -> str:
    """The first names, at most ``limit``, and the number of the others."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"


def printable_lines(text: str) -> str:
    """A text of several lines without what controls a terminal; tabs stay, other space is plain."""
    lines = _LINE_END.sub("\n", _SEQUENCE.sub("", text))
    return "".join(
        char if char.isprintable() or char in "\n\t" else " " if char.isspace() else ""
        for char in lines
    )
