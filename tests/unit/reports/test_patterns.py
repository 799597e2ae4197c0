# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Patterns match what they describe, and nothing else."""

from __future__ import annotations

import typing as t

import pytest
from nimops_reports.patterns import find_mismatches, is_words


@pytest.mark.parametrize(
    ("pattern", "fits", "differs"),
    [
        pytest.param(1, 1, 2, id="number"),
        pytest.param(1, 1, True, id="number and boolean"),
        pytest.param("a", "a", "ab", id="text"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, {"b": 2}, id="mapping"),
        pytest.param({"a": {"b": 1}}, {"a": {"b": 1}}, {"a": 1}, id="mapping of another type"),
        pytest.param({"a": None}, {"a": ""}, {"a": 0}, id="absent"),
        pytest.param([1, 2], [3, 2, 1], [1, 3], id="list"),
        pytest.param([1], [1], None, id="list that is absent"),
        pytest.param({"$has": "a"}, "cat", "dog", id="has"),
        pytest.param({"$has": ["a", "t"]}, "cat", "car", id="has both"),
        pytest.param({"$has": "a"}, ["a"], None, id="has, in a list"),
        pytest.param({"$lacks": ["x", "a"]}, "dog", "cat", id="lacks"),
        pytest.param({"$lacks": "a"}, None, {"a": 1}, id="lacks, absent"),
        pytest.param({"$has": "a", "$lacks": "t"}, "car", "cat", id="two words"),
        pytest.param({"$is": [1]}, [1], [1, 2], id="is"),
        pytest.param({"$none": {"a": 1}}, [{"a": 2}], [{"a": 2}, {"a": 1}], id="none"),
        pytest.param({"$all": {"a": 1}}, [{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 2}], id="all"),
        pytest.param({"$all": {"a": 1}}, [{"a": 1}], [], id="all of nothing"),
        pytest.param({"$count": 1}, [0], [0, 0], id="count"),
        pytest.param({"$count": 0}, [], [0], id="count of none"),
    ],
)
def test_find_mismatches(pattern: t.Any, fits: t.Any, differs: t.Any) -> None:
    assert find_mismatches(pattern, fits) == []
    assert len(find_mismatches(pattern, differs)) == 1


def test_find_mismatches_names_the_place_of_the_nearest() -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "Other", "status": "Unknown"}]
    pattern = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert find_mismatches(pattern, {"conditions": conditions}) == [
        'it.conditions.status is "False", not "True"'
    ]


@pytest.mark.parametrize("pattern", [{"$hass": 1}, {"$has": 1, "key": 2}])
def test_is_words_unknown(pattern: t.Any) -> None:
    with pytest.raises(ValueError, match="unknown words: "):
        is_words(pattern)
