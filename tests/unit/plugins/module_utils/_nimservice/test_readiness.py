# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.readiness import (
    Readiness,
    rollout_of,
)

DONE = {"observedGeneration": 3, "updatedReplicas": 2, "availableReplicas": 2}
WAIT = 'Waiting for deployment "llm" rollout to finish: '
EXCEEDED = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]
PROGRESSING = [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]


@pytest.mark.parametrize(
    ("replicas", "status", "wanted"),
    [
        pytest.param(
            2, DONE, Readiness(True, 'deployment "llm" successfully rolled out\n'), id="done"
        ),
        pytest.param(
            2,
            DONE | {"conditions": PROGRESSING},
            Readiness(True, 'deployment "llm" successfully rolled out\n'),
            id="done, with conditions",
        ),
        pytest.param(
            0, DONE, Readiness(False, 'deployment "llm" is scaled down'), id="no replicas"
        ),
        pytest.param(
            None, {}, Readiness(False, 'deployment "llm" is scaled down'), id="replicas unset"
        ),
        pytest.param(
            2,
            DONE | {"observedGeneration": 2},
            Readiness(
                False, 'Waiting for deployment "llm" spec update to be observed...\n', moving=True
            ),
            id="status of an older generation",
        ),
        pytest.param(
            2,
            {},
            Readiness(
                False, 'Waiting for deployment "llm" spec update to be observed...\n', moving=True
            ),
            id="no status yet",
        ),
        pytest.param(
            2,
            {"observedGeneration": 3, "conditions": EXCEEDED},
            Readiness(False, 'deployment "llm" exceeded its progress deadline', stuck=True),
            id="stuck",
        ),
        pytest.param(
            2,
            {"observedGeneration": 3},
            Readiness(False, WAIT + "0 out of 2 new replicas have been updated...\n", moving=True),
            id="none updated",
        ),
        pytest.param(
            2,
            DONE | {"availableReplicas": 1},
            Readiness(False, WAIT + "1 of 2 updated replicas are available...\n", moving=True),
            id="one not available",
        ),
    ],
)
def test_rollout_of(replicas: int | None, status: t.Any, wanted: Readiness) -> None:
    live = {
        "metadata": {"name": "llm", "generation": 3},
        "spec": {"replicas": replicas},
        "status": status,
    }
    assert rollout_of(live) == wanted


def test_rollout_of_nothing() -> None:
    assert rollout_of(None) == Readiness(False, "", moving=True)
