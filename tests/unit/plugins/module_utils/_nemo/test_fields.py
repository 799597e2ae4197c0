# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nemo.fields import text_of


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, "default"), ({"a": None}, "default"), ({"a": ""}, ""), ({"a": 1}, "1")],
)
def test_text_of(fields: dict[str, t.Any], expected: str) -> None:
    assert text_of(fields, "a", "default") == expected
