# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.rollout import (
    Readiness,
    build_strategy,
    readiness_of_deployment,
)

DONE = {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 2}
WAIT = 'Waiting for deployment "llm" rollout to finish: '
EXCEEDED = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
PROGRESSING = [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]
UNSCHEDULABLE, ON_NODE = "Unschedulable", ""


READINESS_OF_DEPLOYMENT_CASES = {
    "done": (2, DONE, Readiness(True, 'deployment "llm" successfully rolled out\n')),
    "done, with conditions": (
        2,
        DONE | {"conditions": PROGRESSING},
        Readiness(True, 'deployment "llm" successfully rolled out\n'),
    ),
    "no replicas": (0, DONE, Readiness(False, 'deployment "llm" is scaled down', is_off=True)),
    "replicas unset": (None, {}, Readiness(False, 'deployment "llm" is scaled down', is_off=True)),
    "status of an older generation": (
        2,
        DONE | {"observedGeneration": 2},
        Readiness(
            False, 'Waiting for deployment "llm" spec update to be observed...\n', moving=True
        ),
    ),
    "no status yet": (
        2,
        {},
        Readiness(
            False, 'Waiting for deployment "llm" spec update to be observed...\n', moving=True
        ),
    ),
    "stuck": (
        2,
        {"observedGeneration": 3, "conditions": EXCEEDED},
        Readiness(
            False, 'deployment "llm" exceeded its progress deadline', stuck=True, awaits_pods=True
        ),
    ),
    "none updated": (
        2,
        {"observedGeneration": 3},
        Readiness(
            False,
            WAIT + "0 out of 2 new replicas have been updated...\n",
            moving=True,
            awaits_pods=True,
        ),
    ),
    "one not available": (
        2,
        DONE | {"availableReplicas": 1},
        Readiness(
            False,
            WAIT + "1 of 2 updated replicas are available...\n",
            moving=True,
            awaits_pods=True,
        ),
    ),
}


@pytest.mark.parametrize(
    ("replicas", "status", "wanted"),
    READINESS_OF_DEPLOYMENT_CASES.values(),
    ids=READINESS_OF_DEPLOYMENT_CASES,
)
def test_readiness_of_deployment(replicas: int | None, status: t.Any, wanted: Readiness) -> None:
    live = {
        "metadata": {"name": "llm", "generation": 3},
        "spec": {"replicas": replicas},
        "status": status,
    }
    assert readiness_of_deployment(live) == wanted


def test_readiness_of_deployment_absent() -> None:
    assert readiness_of_deployment(None) == Readiness(False, "", moving=True)


def updating(replicas: int, updated: int, available: int, given: t.Any = "25%") -> dict[str, t.Any]:
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


@pytest.mark.parametrize(
    ("live", "found", "wanted"),
    [
        pytest.param(updating(3, 3, 2), [UNSCHEDULABLE], "25%", id="no update: some find no node"),
        pytest.param(
            updating(3, 1, 2), [UNSCHEDULABLE], 2, id="one finds no node: one more gives way"
        ),
        pytest.param(updating(3, 1, 1), [UNSCHEDULABLE] * 2, 3, id="two find none"),
        pytest.param(updating(12, 1, 8), [UNSCHEDULABLE] * 4, 7, id="and a quarter of many"),
        pytest.param(updating(2, 1, 0), [UNSCHEDULABLE] * 2, 2, id="never more than there are"),
        pytest.param(updating(3, 1, 2), [ON_NODE], "25%", id="it fails otherwise"),
        pytest.param(updating(3, 1, 2), [], "25%", id="it was not tried on the nodes"),
        pytest.param(updating(3, 1, 1, 2), [], 2, id="stays given meanwhile"),
        pytest.param(updating(4, 1, 1, 2), [UNSCHEDULABLE] * 2, 3, id="more is given"),
        pytest.param(
            updating(3, 3, 2, 2), [UNSCHEDULABLE], "25%", id="taken back after the update"
        ),
        pytest.param(updating(0, 0, 0), [], "25%", id="scaled down"),
    ],
)
def test_build_strategy(live: t.Any, found: list[str], wanted: t.Any) -> None:
    assert build_strategy(live, pods(*found)) == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": wanted, "maxSurge": 0},
    }
