# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.fields import block, flag, given, text

SPEC = {"a": {"b": {"c": "x"}, "off": False, "none": None, "empty": ""}, "null": None}


@pytest.mark.parametrize(
    ("path", "expected"),
    [((), SPEC), (("a", "b"), {"c": "x"}), (("absent", "b"), {}), (("null", "b"), {})],
)
def test_block(path, expected):
    assert block(SPEC, *path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [(("a", "b", "c"), "x"), (("a", "empty"), "d"), (("a", "none"), "d"), (("null", "b"), "d")],
)
def test_text(path, expected):
    assert text(SPEC, *path, default="d") == expected


@pytest.mark.parametrize(
    ("path", "expected"), [(("a", "off"), False), (("a", "none"), True), (("absent", "x"), True)]
)
def test_flag(path, expected):
    assert flag(SPEC, *path, default=True) is expected


def test_given():
    assert given(SPEC["a"], "b", "off", "empty", "absent") == {"b": {"c": "x"}}
