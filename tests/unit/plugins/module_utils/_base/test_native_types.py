# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t
from types import MappingProxyType

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types


class Text(str):
    """As Ansible's tagged strings: another type, and another text when it is printed."""

    __slots__ = ()

    def __str__(self) -> str:
        return "printed"


class Number(int):
    pass


class Fraction(float):
    pass


class Items(list[t.Any]):
    pass


class Fields(dict[str, t.Any]):
    pass


@pytest.mark.parametrize(
    ("value", "native"),
    [
        pytest.param(Text("a"), "a", id="text"),
        pytest.param(Number(7), 7, id="whole number"),
        pytest.param(Fraction(0.5), 0.5, id="number"),
        pytest.param(Items([Text("a")]), ["a"], id="list"),
        pytest.param((Text("a"), 1), ["a", 1], id="tuple"),
        pytest.param(Fields(a=Text("b")), {"a": "b"}, id="mapping"),
        pytest.param(MappingProxyType({"a": 1}), {"a": 1}, id="another mapping"),
        pytest.param(True, True, id="true"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_to_native_types(value: t.Any, native: t.Any) -> None:
    found = to_native_types(value)
    assert found == native
    assert type(found) is type(native)


def test_to_native_types_all_levels() -> None:
    found = to_native_types(Fields({Text("a"): Items([Fields(b=Text("c"))])}))
    assert repr(found) == "{'a': [{'b': 'c'}]}"
    assert [type(item) for item in (*found, found["a"], found["a"][0], found["a"][0]["b"])] == [
        str, list, dict, str,
    ]  # fmt: skip


def test_to_native_types_returns_copy() -> None:
    given = {"a": [1]}
    found = to_native_types(given)
    found["a"].append(2)
    assert given == {"a": [1]}
