# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.rollout import (
    rollout_reads,
    unfinished_rollout,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.readiness import readiness_of

KSERVE = {"inferencePlatform": "kserve"}
READY = {"state": "Ready", "observedGeneration": 2, "operatorVersion": ""}
WAITING = 'Waiting for deployment "llm-predictor" rollout to finish: '


def counted(pods):
    """The status as KServe writes it."""
    return {
        "modelStatus": {"copies": {"failedCopies": 0} | ({"totalCopies": pods} if pods else {})}
    }


def refused(status):
    return {"conditions": [{"type": "PredictorReady", "status": status}]}


@pytest.mark.parametrize(
    ("status", "inference", "is_read"),
    [
        pytest.param({}, {}, True, id="new"),
        pytest.param(READY, counted(1), False, id="settled"),
        pytest.param(READY, counted(0), True, id="lost its pods"),
        pytest.param(READY, {}, False, id="not counted"),
        pytest.param(READY | {"observedGeneration": 1}, counted(1), True, id="changed"),
        pytest.param({}, refused("False"), False, id="not ready by KServe"),
        pytest.param({}, {"deploymentMode": "Knative"}, False, id="Knative"),
        pytest.param({}, {"deploymentMode": "RawDeployment"}, True, id="old name"),
        pytest.param({}, {"deploymentMode": ""}, False, id="no mode yet"),
    ],
)
def test_rollout_reads(make, status, inference, is_read):
    cr = make.cr(KSERVE, status)
    names = [read.key for read in rollout_reads(NIMServiceApp(cr, make.inference(**inference)))]
    assert len(names) == is_read
    assert all("llm-predictor" in str(name) for name in names)


def test_rollout_reads_without_kserve(make):
    assert rollout_reads(make.app({})) == []


def deployment(owner="InferenceService", **status):
    reference = {"kind": owner, "name": "llm", "uid": "u2", "controller": True}
    counts = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    return {
        "kind": "Deployment",
        "metadata": {
            "name": "llm-predictor",
            "namespace": "ns",
            "generation": 1,
            "ownerReferences": [reference],
        },
        "spec": {"replicas": 1},
        "status": counts | status,
    }


@pytest.mark.parametrize(
    ("found", "message"),
    [
        pytest.param([], None, id="not read"),
        pytest.param([deployment()], None, id="complete"),
        pytest.param([deployment("NIMService", availableReplicas=0)], None, id="not KServe's"),
        pytest.param(
            [deployment(availableReplicas=0)],
            WAITING + "0 of 1 updated replicas are available...\n",
            id="its only pod is missing",
        ),
        pytest.param(
            [deployment(updatedReplicas=0)],
            WAITING + "0 out of 1 new replicas have been updated...\n",
            id="old pods",
        ),
        pytest.param(
            [deployment(observedGeneration=0)],
            'Waiting for deployment "llm-predictor" spec update to be observed...\n',
            id="not observed",
        ),
    ],
)
def test_unfinished_rollout(make, found, message):
    live = NIMServiceApp(make.cr(KSERVE), make.inference()).live("InferenceService")
    app = make.app(KSERVE, live, *found)
    unfinished = unfinished_rollout(app)
    assert (unfinished and unfinished.message) == message
    assert readiness_of(app).ready is (message is None)
