# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The state of custom resources."""

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
        pytest.param(make(), True, id="ready"),
        pytest.param(make(state="NotReady"), False, id="not ready"),
        pytest.param(make(observed=1), False, id="older spec"),
        pytest.param(make(observed=None), True, id="no generation"),
        pytest.param({"metadata": {"generation": 1}}, False, id="no status"),
    ],
)
def test_is_settled(resource: t.Any, expected: bool) -> None:
    assert is_settled(resource) is expected


def test_describe_unready() -> None:
    conditions = [
        {"type": "Ready", "status": "False", "message": "hidden"},
        {"type": "Reconciling", "status": "True", "message": "Waiting for the model"},
    ]
    waiting = [make(f"n{number}", "NotReady", conditions=conditions) for number in range(5)]
    assert describe_unready([make(), waiting[0]]) == "n0 is NotReady: Waiting for the model"
    assert describe_unready(waiting).endswith("and 2 more")
