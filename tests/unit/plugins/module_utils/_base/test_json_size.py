# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.json_size import (
    json_size,
    name_largest,
    show_size,
)


@pytest.mark.parametrize(
    ("value", "size"),
    [({}, 2), ({"a": [1, "b"]}, 13), ("\n", 4), ("é", 4), ("\U0001f600", 6), ("\ud800", 3)],
)
def test_json_size_of_compact_json(value: t.Any, size: int) -> None:
    assert json_size(value) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (62_000, "60.5 KiB"), (1 << 20, "1 MiB"),
     (15_900_000, "15.2 MiB"), (140 << 30, "140 GiB"), (1 << 60, "1024 PiB")],
)  # fmt: skip
def test_show_size_units(size: int, text: str) -> None:
    assert show_size(size) == text


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"a": 2048, "b": 1}, "a (2 KiB)"),
        ({"a": 1100, "b": 3072, "c": 10}, "b (3 KiB) and a (1.1 KiB)"),
        ({}, ""),
    ],
)
def test_name_largest_only_large_fields(sizes: dict[str, int], text: str) -> None:
    assert name_largest(sizes) == text
