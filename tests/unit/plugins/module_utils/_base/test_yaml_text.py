# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import dump_yaml


def test_keys_are_sorted_at_every_level() -> None:
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
def test_text_stays_text(value: t.Any, text: str) -> None:
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
def test_people_see_lines(value: str, text: str) -> None:
    assert dump_yaml([value], by_line=True) == text
    assert yaml.safe_load(text) == [value]
