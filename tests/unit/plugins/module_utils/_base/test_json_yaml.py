# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.json_yaml import (
    is_same_data,
    read_json_yaml,
    sort_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import dump_yaml

SCALARS = [
    ("1e-4", 0.0001),
    ("1E3", 1000),
    ("yes", True),
    ("Y", True),
    ("on", True),
    ("No", False),
    ("n", False),
    ("OFF", False),
    ("yEs", "yEs"),
    ("~", None),
    ("", None),
    ("Null", None),
    ("0644", 420),
    ("-0644", -420),
    ("089", 89),
    ("0o17", 15),
    ("0x1F", 31),
    ("-0X1f", -31),
    ("0b101", 5),
    ("1_000", 1000),
    ("1_0.5", 10.5),
    (".5", 0.5),
    ("1.", 1),
    ("1.0", 1),
    ("+7", 7),
    ("9007199254740993", 9007199254740993),
    ("18446744073709551616", 18446744073709551616),
    ("0x1ffffffffffffffff", "0x1ffffffffffffffff"),
    ("1e400", "1e400"),
    ("1e300", 1e300),
    ("2020-01-02", "2020-01-02"),
    ("12:30", "12:30"),
    ("1.2.3", "1.2.3"),
    ("-_1", -1),
    ("1_0e1", 100),
    ("0x_", "0x_"),
    ("-", "-"),
    (".", "."),
    ("'1'", "1"),
    ('"yes"', "yes"),
    ("!!str 1", "1"),
    ("!!int '7'", 7),
    ("!own 7", "7"),
    ("a{{ b }}", "a{{ b }}"),
]


def typed(value: t.Any) -> tuple[str, t.Any]:
    """True is not 1, nor is 1.0."""
    return type(value).__name__, value


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_scalars(text: str, value: t.Any) -> None:
    if text == "-":
        text = "'-'"
    assert typed(read_json_yaml(f"a: {text}")["a"]) == typed(value)


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_text_that_is_written_is_read_as_text(text: str, value: t.Any) -> None:
    assert read_json_yaml(dump_yaml({text: [text]})) == {text: [text]}
    assert typed(read_json_yaml(dump_yaml([value]))[0]) == typed(value)


@pytest.mark.parametrize(
    ("text", "key"),
    [("1", "1"), ("yes", "true"), ("off", "false"), ("0x10", "16"), ("1.5", "1.5"), ("'1'", "1")],
)
def test_keys_are_strings(text: str, key: str) -> None:
    assert read_json_yaml(f"{text}: {{{text}: a}}") == {key: {key: "a"}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: .inf", "line 1, column 4: .inf is not a number of JSON"),
        ("a: [-.INF]", "line 1, column 5: -.INF is not a number of JSON"),
        ("a: .nan", "line 1, column 4: .nan is not"),
        ("~: a", "line 1, column 1: a key is null"),
        ("a: &a [1]\nb: *a", "line 2, column 4: aliases are not supported"),
        ("<<: {a: 1}", "merge keys are not supported"),
        ("[" * 100, "nested deeper than 32 levels"),
        ("a: [", "line 2, column 1|line 1, column"),
        (f"a: {'1' * 65}", "a number has more than 64 characters"),
        ("a" * (2**18 + 1), "more than 262144 characters"),
    ],
)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_json_yaml(text)


def test_digit_runs_are_compared_as_numbers() -> None:
    data = {"m-70b": 1, "m-8b": [{"b": 1, "a10": 2, "a9": 3}], "m-08b": 1, "m": 1, "M": 1}
    found = sort_keys(data)
    assert found == data
    assert list(found) == ["M", "m", "m-8b", "m-08b", "m-70b"]
    assert list(found["m-8b"][0]) == ["a9", "a10", "b"]
    assert list(sort_keys({"9" * 5000: 1, "8": 2})) == ["8", "9" * 5000]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("a: 1\nb: [x]", "{b: ['x'], a: 1.0}", True),
        ("a: 1", "a: true", False),
        ("a: 1", "a: '1'", False),
        ("[a, b]", "[b, a]", False),
        ("a: [", "a: [", False),
    ],
)
def test_is_same_data(one: str, other: str, is_same: bool) -> None:
    assert is_same_data(one, other) is is_same
