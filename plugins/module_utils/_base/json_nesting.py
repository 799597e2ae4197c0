# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""JSON whose lists and maps are deeper in one another than an interpreter can parse."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
"""A string without an end reaches to that of the text, so no part is read twice."""


def cut_nesting(text: bytes, depth: int) -> bytes:
    """The text with `null` instead of all lists and maps below ``depth``.

    Of a text that is cut off there, that part is left out.
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
