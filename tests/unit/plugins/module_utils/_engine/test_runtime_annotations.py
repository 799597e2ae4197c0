# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import (
    PREFIX,
    RANGES,
    out_of_range,
)

ROOT = Path(__file__).resolve().parents[5]
CASES = yaml.safe_load((ROOT / "tests/admission/runtime_annotations.yaml").read_text())


def cases(word: str) -> list:
    return [
        pytest.param(PREFIX + name, value, id=f"{name}={value!r}")
        for name, values in CASES.items()
        for value in values[word]
    ]


def test_ranges_have_cases():
    assert {PREFIX + name for name in CASES} == set(RANGES)


@pytest.mark.parametrize(("name", "value"), cases("taken"))
def test_out_of_range_accepted(name, value):
    assert out_of_range({name: value}) == {}


@pytest.mark.parametrize(("name", "value"), cases("refused"))
def test_out_of_range_refused(name, value):
    assert set(out_of_range({name: value})) == {name}


@pytest.mark.parametrize("annotations", [None, {}, {"example.com/verbosity": "9000"}])
def test_out_of_range_without_annotations(annotations):
    assert out_of_range(annotations) == {}


def test_out_of_range_lists_all_errors():
    found = out_of_range(
        {f"{PREFIX}verbosity": "8", f"{PREFIX}reconcile-period": "1ns", "example.com/a": "b"}
    )
    assert found == {
        f"{PREFIX}reconcile-period": "must be a duration in h, m and s, from 30s to 8760h",
        f"{PREFIX}verbosity": "must be a whole number from 0 to 7",
    }
