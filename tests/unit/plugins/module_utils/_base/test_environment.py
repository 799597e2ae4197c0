# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.environment import count_from


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 5), ("7", 7), ("0", 1), ("-1", 5), ("7 s", 5), ("\u0667", 5), ("9" * 5000, 5)],
)
def test_count_from(monkeypatch, text, expected):
    monkeypatch.setenv("COUNT", text)
    assert count_from("COUNT", 5) == expected
    monkeypatch.delenv("COUNT")
    assert count_from("COUNT", 5) == 5
