# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import time
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.json_nesting import cut_nesting


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        ({"a": [1, {"b": 2}]}, {"a": [1, None]}),
        ([[[]], {"a": {"b": []}}, "x"], [[None], {"a": None}, "x"]),
        ({"[": '{[\\"', "b": {"]": {"c": "}"}}, "d": 1}, {"[": '{[\\"', "b": {"]": None}, "d": 1}),
    ],
)
def test_cut_nesting_below_depth(value: t.Any, expected: t.Any) -> None:
    assert json.loads(cut_nesting(json.dumps(value).encode(), 2)) == expected


def test_cut_nesting_beyond_interpreter_limit() -> None:
    text = b'{"spec": ' + b'{"a":[' * 100000 + b"]}" * 100000 + b', "kind": "A"}'
    with pytest.raises(RecursionError):
        json.loads(text)
    assert json.loads(cut_nesting(text, 10))["kind"] == "A"


@pytest.mark.parametrize("text", [b'"', b'"' + b'\\"' * 40_000, b'["a", "\\'])
def test_cut_nesting_truncated_text_in_linear_time(text: bytes) -> None:
    start = time.process_time()
    assert cut_nesting(text, 10) == text
    once = time.process_time() - start
    start = time.process_time()
    cut_nesting(text * 4, 10)
    assert time.process_time() - start < 40 * max(once, 0.005)
