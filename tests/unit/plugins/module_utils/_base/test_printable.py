# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.printable import (
    name_some,
    printable,
    printable_lines,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("a\x1b[31mb\n\u202ec", "a[31mbc"), ("é ü", "é ü"), ("x" * 99, "x" * 20)],
)
def test_printable(text, expected):
    assert printable(text, 20) == expected


@pytest.mark.parametrize(
    ("count", "expected"), [(0, ""), (1, "0"), (2, "0, 1"), (3, "0, 1 and 1 more")]
)
def test_name_some(count, expected):
    assert name_some([str(number) for number in range(count)], 2) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\tb", "a\n\tb"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
        ("\x1b[" + "1" * 99 + "m", "[" + "1" * 99 + "m"),
        ("\x1b]0;no end\nb", "]0;no end\nb"),
        ("a\x00\x07\x08\x1b\x7f\x9b2J\u202eb", "a2Jb"),
        ("1\u202f000\u00a0€\x0b!", "1 000 € !"),
        ("日本語 ü 😀", "日本語 ü 😀"),
    ],
)
def test_printable_lines(text, expected):
    assert printable_lines(text) == expected
