# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.strategy import (
    build_strategy,
    strategy_reads,
)

PODS = "Pod?app=llm"


def deployment(
    replicas: int, updated: int, available: int, given: t.Any = "25%"
) -> dict[str, t.Any]:
    """A live one in the middle of an update."""
    return {
        "kind": "Deployment",
        "metadata": {"name": "llm", "namespace": "ns"},
        "spec": {
            "replicas": replicas,
            "strategy": {"rollingUpdate": {"maxUnavailable": given, "maxSurge": 0}},
        },
        "status": {"updatedReplicas": updated, "availableReplicas": available},
    }


def pods(*reasons: str) -> list[dict[str, t.Any]]:
    return [
        {"status": {"conditions": [{"type": "PodScheduled", "reason": reason}]}}
        for reason in reasons
    ]


UNSCHEDULABLE, ON_NODE = "Unschedulable", ""


@pytest.mark.parametrize(
    ("live", "found", "wanted"),
    [
        pytest.param(deployment(3, 3, 2), None, "25%", id="no update: some find no node"),
        pytest.param(
            deployment(3, 1, 2), [UNSCHEDULABLE], 2, id="one finds no node: one more gives way"
        ),
        pytest.param(deployment(3, 1, 1), [UNSCHEDULABLE] * 2, 3, id="two find none"),
        pytest.param(deployment(12, 1, 8), [UNSCHEDULABLE] * 4, 7, id="and a quarter of many"),
        pytest.param(deployment(2, 1, 0), [UNSCHEDULABLE] * 2, 2, id="never more than there are"),
        pytest.param(deployment(3, 1, 2), [ON_NODE], "25%", id="it fails otherwise"),
        pytest.param(deployment(3, 1, 2), [], "25%", id="it was not tried on the nodes"),
        pytest.param(deployment(3, 1, 1, 2), [], 2, id="stays given meanwhile"),
        pytest.param(deployment(4, 1, 1, 2), [UNSCHEDULABLE] * 2, 3, id="more is given"),
        pytest.param(
            deployment(3, 3, 2, 2), [UNSCHEDULABLE], "25%", id="taken back after the update"
        ),
        pytest.param(deployment(0, 0, 0), [], "25%", id="scaled down"),
    ],
)
def test_build_strategy(make: t.Any, live: t.Any, found: list[str] | None, wanted: t.Any) -> None:
    answers = {} if found is None else {PODS: pods(*found)}
    strategy = build_strategy(make.cr(), make.observe(live, **answers))
    assert strategy == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": wanted, "maxSurge": 0},
    }


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        pytest.param([], [], id="new"),
        pytest.param([deployment(3, 3, 3)], [], id="Ready"),
        pytest.param([deployment(3, 3, 2)], [], id="no update"),
        pytest.param([deployment(3, 1, 3)], [], id="update that misses none"),
        pytest.param([deployment(3, 1, 2)], [PODS], id="update that misses one"),
    ],
)
def test_strategy_reads(make: t.Any, live: t.Any, wanted: list[str]) -> None:
    found = strategy_reads(make.cr(), make.observe(*live))
    assert [(read.key, read.namespace) for read in found] == [(key, "ns") for key in wanted]
