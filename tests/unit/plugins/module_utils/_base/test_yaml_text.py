# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import re
import typing as t

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import (
    dump_yaml,
    is_same_data,
    load_yaml,
    read_bounded,
    read_json_yaml,
    sort_keys,
)


def test_dump_yaml_sorts_keys_at_every_level() -> None:
    data = {"b": [{"z": 1, "a": None}], "a": {"w": "", "v": []}}
    assert dump_yaml(data) == "a:\n  v: []\n  w: ''\nb:\n- a: null\n  z: 1\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("plain words", "plain words", id="text"),
        pytest.param("5s", "5s", id="duration"),
        pytest.param("2330:10de", "2330:10de", id="PCI address"),
        pytest.param("yes", "'yes'", id="truth of YAML 1.1"),
        pytest.param("1.5", "'1.5'", id="number"),
        pytest.param("1e3", "'1e3'", id="number of YAML 1.2"),
        pytest.param("5E-1", "'5E-1'", id="small number of YAML 1.2"),
        pytest.param("0o17", "'0o17'", id="octal of YAML 1.2"),
        pytest.param("-0X1F", "'-0X1F'", id="number of Go"),
        pytest.param("y", "'y'", id="short truth of YAML 1.1"),
        pytest.param(0.8, "0.8", id="float"),
        pytest.param(True, "true", id="truth"),
        pytest.param("größer", "größer", id="letters"),
    ],
)
def test_dump_yaml_text_stays_text(value: t.Any, text: str) -> None:
    assert dump_yaml([value]) == f"- {text}\n"
    assert yaml.safe_load(dump_yaml([value])) == [value]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("a:\n  b: c\n", "- |\n  a:\n    b: c\n", id="file"),
        pytest.param("a\nb", "- |-\n  a\n  b\n", id="no newline at its end"),
        pytest.param("a\n", "- 'a\n\n  '\n", id="one line"),
        pytest.param("a\n\n \n", '- "a\\n\\n \\n"\n', id="blanks at the end of a line"),
        pytest.param("a\r\nb", '- "a\\r\\nb"\n', id="carriage return"),
        pytest.param("\na\nb", "- '\n\n  a\n\n  b'\n", id="begins with a newline"),
        pytest.param("a\nb\x85c", '- "a\\nb\\Nc"\n', id="newline for some readers"),
        pytest.param("", "- ''\n", id="empty"),
    ],
)
def test_dump_yaml_by_line(value: str, text: str) -> None:
    assert dump_yaml([value], by_line=True) == text
    assert yaml.safe_load(text) == [value]


PLAIN = """
a: 1
b: [yes, ~, 1.10, 'x', 2020-01-01]
c: !tag {d: &unused 0x10}
"""


def test_read_bounded_scalars_are_text() -> None:
    assert read_bounded(PLAIN, depth=2) == {
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
def test_read_bounded_documents(text: str, document: t.Any) -> None:
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
def test_read_bounded_typed_keys(scalar: str, value: t.Any) -> None:
    text = f"typed: {scalar}\nbelow: {{x: [{scalar}], 1: {scalar}}}\nother: {scalar}"
    found = read_bounded(text, depth=3, typed=("typed", "below"))
    plain = scalar.strip("'")
    assert found == {"typed": value, "below": {"x": [value], "1": value}, "other": plain}


def test_read_bounded_typed_keys_only_at_top() -> None:
    assert read_bounded("a: {typed: 1}", depth=2, typed=("typed",)) == {"a": {"typed": "1"}}


def test_read_bounded_depth() -> None:
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
def test_read_bounded_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        read_bounded(text, depth=32)
    assert "\n" not in str(raised.value)


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
def test_read_json_yaml_scalars(text: str, value: t.Any) -> None:
    if text == "-":
        text = "'-'"
    assert typed(read_json_yaml(f"a: {text}")["a"]) == typed(value)


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_read_json_yaml_reads_dumped_text(text: str, value: t.Any) -> None:
    assert read_json_yaml(dump_yaml({text: [text]})) == {text: [text]}
    assert typed(read_json_yaml(dump_yaml([value]))[0]) == typed(value)


@pytest.mark.parametrize(
    ("text", "key"),
    [("1", "1"), ("yes", "true"), ("off", "false"), ("0x10", "16"), ("1.5", "1.5"), ("'1'", "1")],
)
def test_read_json_yaml_keys_are_strings(text: str, key: str) -> None:
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
def test_read_json_yaml_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_json_yaml(text)


def test_sort_keys_compares_numbers() -> None:
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: 1\nb: 2\na: 3\n",
            'line 3, column 1: key "a" is already in line 1: remove one of them',
        ),
        ("x:\n  - {a: 1, b: {c: 1, c: 2}}\n", 'line 2, column 22: key "c" is already in line 2'),
        ("a: {b: 1}\n---\nspec:\n  'source':\n  source: {}\n", 'line 5, column 3: key "source" is'),
        ("1: a\n1: b\n", 'line 2, column 1: key "1" is already in line 1'),
    ],
)
def test_load_yaml_key_twice(text, message):
    """R18: Helm and kubectl take the last one, other tools the first or neither."""
    with pytest.raises(ValueError, match=re.escape(message)):
        load_yaml(text)


def test_load_yaml_merge_keys():
    text = "base: &base {a: 1}\nmore: {<<: *base, a: 2}\nboth: {<<: *base, <<: {b: 3}}\n"
    assert load_yaml(text)[0]["more"] == {"a": 2}


def test_load_yaml_merged_before_built():
    """An anchor in a deeper mapping is flattened before that mapping is built."""
    text = "base: &base {a: 1}\nx: {y: {inner: &more {<<: *base, a: 2}}}\nz: {<<: *more, a: 3}\n"
    assert load_yaml(text)[0]["z"] == {"a": 3}


def test_load_yaml_key_twice_printable():
    key = "\\e[2J" + "x" * 500
    with pytest.raises(ValueError, match="is already in line 1") as caught:
        load_yaml(f'{{"{key}": 1, "{key}": 2}}')
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300
