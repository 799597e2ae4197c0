# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What is known of NIMServices by looking at them."""

from __future__ import annotations

import typing as t

import pytest
from nimops_harness.workload import describe_unready, is_settled, make_nimservice


def make(name: str = "a", state: str = "Ready", observed: int | None = 2, **status: t.Any) -> t.Any:
    resource = make_nimservice(name)
    resource["metadata"]["generation"] = 2
    resource["status"] = {"state": state, "observedGeneration": observed, **status}
    return resource


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (make(), True),
        (make(state="NotReady"), False),
        (make(observed=1), False),
        (make(observed=None), True),
        ({"metadata": {"generation": 1}}, False),
    ],
    ids=["ready", "not-ready", "of-an-older-spec", "no-generation", "no-status"],
)
def test_is_settled(resource: t.Any, expected: bool) -> None:
    assert is_settled(resource) is expected


def test_unready_are_described_by_their_conditions() -> None:
    conditions = [
        {"type": "Ready", "status": "False", "message": "not said"},
        {"type": "Reconciling", "status": "True", "message": "Waiting for the model"},
    ]
    waiting = make("b", "NotReady", conditions=conditions)
    assert describe_unready([make(), waiting]) == "b is NotReady: Waiting for the model"


def test_only_a_few_unready_are_described() -> None:
    text = describe_unready([make(f"n{number}", "Pending") for number in range(5)])
    assert text.startswith("n0 is Pending")
    assert text.endswith("and 2 more")
    assert "n3" not in text
