# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.bounded_yaml import read_bounded

TEXT = """
a: 1
b: [yes, ~, 1.10, 'x', 2020-01-01]
c: !tag {d: &unused 0x10}
"""


def test_scalars_are_text_as_written() -> None:
    assert read_bounded(TEXT, depth=2) == {
        "a": "1",
        "b": ["yes", "~", "1.10", "x", "2020-01-01"],
        "c": {"d": "0x10"},
    }


@pytest.mark.parametrize(
    ("text", "document"),
    [
        pytest.param("", None, id="nothing"),
        pytest.param("# a comment", None, id="a comment"),
        pytest.param("text", "text", id="a scalar"),
        pytest.param("[]", [], id="a list"),
        pytest.param("a: 1\na: 2", {"a": "2"}, id="a key twice: the last counts"),
        pytest.param("1: {~: x}", {"1": {"~": "x"}}, id="keys are text"),
        pytest.param("'<<': x", {"<<": "x"}, id="a quoted merge key is a plain one"),
        pytest.param("a:\n- - b\n  - c\n- d", {"a": [["b", "c"], "d"]}, id="nested lists"),
    ],
)
def test_documents(text: str, document: t.Any) -> None:
    assert read_bounded(text, depth=3) == document


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("1", 1),
        ("0x10", 16),
        ("1.5", 1.5),
        ("true", True),
        ("~", None),
        ("text", "text"),
        ("'1'", "1"),
        ("2020-01-01", "2020-01-01"),
        ("1" * 64, int("1" * 64)),
        ("1" * 65, "1" * 65),
        ("2020-13-45", "2020-13-45"),
        ("0x_", "0x_"),
        ("=", "="),
    ],
)
def test_typed_keys(scalar: str, value: t.Any) -> None:
    text = f"typed: {scalar}\nbelow: {{x: [{scalar}], 1: {scalar}}}\nother: {scalar}"
    found = read_bounded(text, depth=3, typed=("typed", "below"))
    plain = scalar.strip("'")
    assert found == {"typed": value, "below": {"x": [value], "1": value}, "other": plain}


def test_typed_keys_are_those_of_the_top() -> None:
    assert read_bounded("a: {typed: 1}", depth=2, typed=("typed",)) == {"a": {"typed": "1"}}


def test_depth() -> None:
    assert read_bounded("[[x]]", depth=2) == [["x"]]
    with pytest.raises(ValueError, match="line 1, column 3: it is nested deeper than 2 levels"):
        read_bounded("[[[x]]]", depth=2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            "a: &a [*a]", "line 1, column 8: aliases are not supported", id="alias of itself"
        ),
        pytest.param("a: &a b\nc: *a", "line 2, column 4: aliases are not supported", id="alias"),
        pytest.param("&a b: c\n*a : d", "aliases are not supported", id="alias as a key"),
        pytest.param("a: {<<: {b: c}}", "merge keys are not supported", id="merge key"),
        pytest.param("? [a]\n: b", "a key is not a scalar", id="list as a key"),
        pytest.param("? {a: b}\n: c", "a key is not a scalar", id="mapping as a key"),
        pytest.param("a: b\n---\nc: d", "more than one document", id="two documents"),
        pytest.param("[" * 50_000, "nested deeper than 32 levels", id="deep lists"),
        pytest.param("a: " + "{b: " * 40, "nested deeper than 32 levels", id="deep mappings"),
        pytest.param("a: {b", "line 1, column", id="incomplete"),
        pytest.param("a: [1]\n b", "line 2, column", id="broken"),
        pytest.param("a: \x00", "control characters are not allowed", id="control character"),
    ],
)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        read_bounded(text, depth=32)
    assert "\n" not in str(raised.value)
