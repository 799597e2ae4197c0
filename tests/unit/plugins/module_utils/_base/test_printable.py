# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.printable import (
    name_some,
    printable,
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
