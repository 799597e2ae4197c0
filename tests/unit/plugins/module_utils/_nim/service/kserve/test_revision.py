# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.revision import (
    why_failed,
)

KSERVE = {"inferencePlatform": "kserve"}
VAGUE = 'Configuration "llm-predictor" does not have any ready Revision.'
FAILED = 'Revision "llm-predictor-00001" failed with message: '
IMAGE = f'{FAILED}Unable to fetch image "r/a:1": failed to resolve image to digest: GET https://r'
SLOW = f'{FAILED}ReplicaSet "a" has timed out progressing'
OF_IMAGE = (
    " (check spec.image, or add its registry to registries-skipping-tag-resolving in ConfigMap"
    " config-deployment, in Knative's namespace knative-serving)"
)
OF_TIME = (
    " (for a slow start, set the annotation serving.knative.dev/progress-deadline, such as 1h)"
)
PODS = "0/3 nodes are available"


def live(message, mode="Knative", status="False"):
    condition = {"type": "PredictorConfigurationReady", "status": status, "message": message}
    return {
        "kind": "InferenceService",
        "metadata": {"name": "llm", "namespace": "ns"},
        "status": {"deploymentMode": mode, "conditions": [condition]},
    }


@pytest.mark.parametrize(
    ("found", "known", "pods", "why"),
    [
        pytest.param(live(f"{IMAGE}.."), VAGUE, "", IMAGE + OF_IMAGE, id="no pods"),
        pytest.param(live(f"{SLOW}.."), VAGUE, "", SLOW + OF_TIME, id="late"),
        pytest.param(live(f"{SLOW}.."), VAGUE, PODS, f"{SLOW}{OF_TIME}; {PODS}", id="late pods"),
        pytest.param(live(f"{SLOW}.."), f"{SLOW}..", "", OF_TIME.strip(), id="known"),
        pytest.param(live(f"{FAILED}{PODS}"), VAGUE, PODS, PODS, id="the pods explain it"),
        pytest.param(live(f"{FAILED}x"), VAGUE, "", f"{FAILED}x", id="another cause"),
        pytest.param(live("wait", status="Unknown"), VAGUE, PODS, PODS, id="in progress"),
        pytest.param(live(IMAGE, mode="Standard"), VAGUE, PODS, PODS, id="standard mode"),
        pytest.param(None, VAGUE, "", "", id="no InferenceService"),
    ],
)
def test_why_failed(make, found, known, pods, why):
    app = make.app(KSERVE, *([found] if found else []))
    assert why_failed(app, known, pods) == why


def test_why_failed_without_kserve(make):
    assert why_failed(make.app({}), "", PODS) == PODS
