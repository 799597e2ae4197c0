# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.printable import printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("a\x1b[31mb\n\u202ec", "a[31mbc"), ("é ü", "é ü"), ("x" * 99, "x" * 20)],
)
def test_printable(text, expected):
    assert printable(text, 20) == expected
