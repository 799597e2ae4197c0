# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Limits the nesting of JSON to a depth that every interpreter can parse."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
"""An unterminated string extends to the end of the text, so no part is scanned twice."""


def cut_nesting(text: bytes, depth: int) -> bytes:
    """The text with `null` in place of all lists and maps below ``depth``.

    If the text ends within such a part, the part is omitted.
    """
    kept, level, start = list[bytes](), 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        if mark in b"[{":
            if level == depth:
                kept.append(text[start : token.start()])
            level += 1
        elif mark in b"]}":
            level -= 1
            if level == depth:
                kept.append(b"null")
                start = token.end()
    return b"".join(kept if level > depth else [*kept, text[start:]])
