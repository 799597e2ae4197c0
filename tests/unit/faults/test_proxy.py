# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Requests that the proxy refuses."""

from __future__ import annotations

import typing as t

import pytest
from nimops_faults.proxy import Trouble


@pytest.mark.parametrize(
    ("every", "methods", "expected"),
    [
        (0, ["PATCH"] * 6, []),
        (3, ["PATCH"] * 2, []),
        (3, ["POST", "PATCH", "DELETE"] * 4, [(2, 409), (5, 429), (8, 500), (11, 500)]),
        (3, ["GET"] * 9, []),
        (2, ["GET", "PUT", "GET", "PUT"], [(3, 409)]),
    ],
    ids=["off", "not-yet", "each-in-turn", "reads", "only-writes-count"],
)
def test_trouble_judge(every: int, methods: list[str], expected: t.Any) -> None:
    trouble = Trouble(every=every)
    answers = [trouble.judge(method) for method in methods]
    assert [(index, answer.code) for index, answer in enumerate(answers) if answer] == expected
    assert trouble.refused == len(expected)
