# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reads of each step."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.reads import reads

BUILD_POD, MANIFEST_POD = "engine-engine-build-pod", "engine-local-manifest-pod"
CACHE, CLAIM = "NIMCache/nim/llama", "PersistentVolumeClaim/nim/llama-pvc"
PODS = [f"Pod/nim/{BUILD_POD}", f"Pod/nim/{MANIFEST_POD}"]
COMPLETED = {"type": "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED", "status": "True"}
READ = {"type": "NIM_BUILD_MODEL_MANIFEST_POD_COMPLETED", "status": "True"}
POD = {"metadata": {"name": "p"}}


@pytest.mark.parametrize(
    ("conditions", "state", "pods", "more"),
    [
        pytest.param([], None, [], [], id="no cache"),
        pytest.param([], "InProgress", [], [], id="cache not ready"),
        pytest.param([], "InProgress", PODS[:1], [CLAIM], id="cache not ready, pod exists"),
        pytest.param([], "Ready", [], ["Node/*"], id="pod to create"),
        pytest.param([], "Ready", PODS[:1], [CLAIM], id="building"),
        pytest.param([COMPLETED], "Ready", PODS[:1], [CLAIM, "Node/*"], id="built"),
        pytest.param(
            [COMPLETED], "Ready", PODS[1:], [CLAIM, "ConfigMap/nim/llama-manifest"], id="reading"
        ),
    ],
)
def test_reads_by_step(build, cache, conditions, state, pods, more):
    answers = dict.fromkeys(pods, POD) | ({CACHE: cache(state=state)} if state else {})
    app = NIMBuildApp(build() | {"status": {"conditions": conditions}}, Observed(answers))
    assert [read.key for read in reads(app)] == [*PODS, CACHE, *more]


def test_reads_of_finished_build(build):
    cr = build() | {"status": {"conditions": [COMPLETED, READ]}}
    assert [read.key for read in reads(NIMBuildApp(cr))] == PODS
