# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.yaml_text import dump_yaml


def test_keys_are_sorted_at_every_level() -> None:
    data = {"b": [{"z": 1, "a": None}], "a": {"y": "", "x": []}}
    assert dump_yaml(data) == "a:\n  x: []\n  y: ''\nb:\n- a: null\n  z: 1\n"


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
        pytest.param(0.8, "0.8", id="float"),
        pytest.param(True, "true", id="truth"),
        pytest.param("größer", "größer", id="letters"),
    ],
)
def test_text_stays_text(value: t.Any, text: str) -> None:
    assert dump_yaml([value]) == f"- {text}\n"
    assert yaml.safe_load(dump_yaml([value])) == [value]
