# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The next step of a build, and its problems."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.app import NIMBuildApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.build.steps import (
    is_pvc_lost,
    next_step,
)

GPU = "nvidia.com/gpu"
BUILD_POD, MANIFEST_POD = "engine-engine-build-pod", "engine-local-manifest-pod"
COMPLETED = "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED"
READ = "NIM_BUILD_MODEL_MANIFEST_POD_COMPLETED"
CLAIM = {"metadata": {"name": "llama-pvc"}}
LEAVING = {"metadata": {"name": "llama-pvc", "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def test_next_step_unknown_gpu_count(world):
    cluster = world(resources={"limits": {GPU: "1"}})
    cluster.set_cache(state="InProgress")
    cluster.reconcile()
    cluster.set_cache(state="Ready")
    done = cluster.reconcile()
    assert [item["type"] for item in cluster.status["conditions"]] == [
        "Ready", "NIM_BUILD_RECONCILE_FAILED", "Stalled",
    ]  # fmt: skip
    assert (cluster.state, done.applied, done.report.error) == ("Pending", [], "")
    assert cluster.condition("NIM_BUILD_RECONCILE_FAILED")[:2] == ("True", "ReconcileFailed")
    assert cluster.condition("Stalled")[1] == "GPUCountTwice"
    assert done.events == [("Warning", "ReconcileFailed")]


def many_built(count):
    return [{"name": f"b{n}", "config": {"input_profile": "aaaa"}} for n in range(count)]


def test_next_step_full_cache(world, cache, buildable):
    made = world(cache=cache(buildable, *many_built(32)))
    assert made.reconcile().applied == []
    assert made.state == "Pending"
    _status, reason, message = made.condition("Stalled")
    assert reason == "NIMCacheFull"
    assert message.startswith("NIMCache llama lists 32 built profiles")


LIMITS = {
    "by default": ({}, {"labels": {"app": "x"}}, 0, ""),
    "a label": (
        {"NIMOPS_POD_LABELS": "team"}, {"labels": {"app": "x"}}, 1,
        'spec.labels: "app" is forbidden: the operator\'s NIMOPS_POD_LABELS allows team',
    ),
    "fine": ({"NIMOPS_POD_LABELS": "team"}, {"labels": {"team": "x"}}, 1, ""),
    "a cache of root": (
        {"NIMOPS_ROOT_USER": "forbid"}, {}, 0, "spec.userID of NIMCache llama: 0 is forbidden",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "spec", "user", "problem"),
    LIMITS.values(),
    ids=LIMITS,
)
def test_next_step_tenant_limits(
    world, cache, buildable, monkeypatch, variables, spec, user, problem
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    made = world(cache=cache(buildable, userID=user), **spec)
    assert made.reconcile().applied == ([] if problem else [f"Pod/nim/{BUILD_POD}"])
    if problem:
        _status, reason, message = made.condition("Stalled")
        assert reason == "Forbidden"
        assert message.startswith(problem)


def test_next_step_allowed_labels(world, build, monkeypatch):
    monkeypatch.setenv("NIMOPS_POD_LABELS", "team")
    labelled = build()
    labelled["metadata"]["labels"] = {"team": "x", "argocd.argoproj.io/instance": "y"}
    made = world(build=labelled)
    made.reconcile()
    labels = made.get(f"Pod/nim/{BUILD_POD}")["metadata"]["labels"]
    assert (labels["team"], "argocd.argoproj.io/instance" in labels) == ("x", False)


@pytest.mark.parametrize(
    ("answers", "is_lost"),
    [
        pytest.param({}, False, id="not read"),
        pytest.param({"PersistentVolumeClaim/nim/llama-pvc": CLAIM}, False, id="there"),
        pytest.param({"PersistentVolumeClaim/nim/llama-pvc": None}, True, id="gone"),
        pytest.param({"PersistentVolumeClaim/nim/llama-pvc": LEAVING}, True, id="terminating"),
    ],
)
def test_is_pvc_lost(build, cache, answers, is_lost):
    assert is_pvc_lost(NIMBuildApp(build(), Observed(answers)), cache()) is is_lost


@pytest.mark.parametrize(
    ("status", "pod", "stage", "kept"),
    [
        pytest.param({}, None, "to build", [BUILD_POD], id="no pod"),
        pytest.param({}, {"phase": "Pending"}, "building", [BUILD_POD], id="pending"),
        pytest.param({}, {"phase": "Running"}, "building", [BUILD_POD], id="running"),
        pytest.param(
            {},
            {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
            "built",
            [BUILD_POD],
            id="ready",
        ),
        pytest.param({}, {"phase": "Failed"}, "build failed", [BUILD_POD], id="failed"),
        pytest.param({COMPLETED: "True"}, None, "reading", [MANIFEST_POD], id="reading"),
        pytest.param({COMPLETED: "True", READ: "True"}, None, "finished", [], id="finished"),
    ],
)
def test_next_step_stage(build, cache, buildable, status, pod, stage, kept):
    conditions = [{"type": kind, "status": value} for kind, value in status.items()]
    cr = build() | {"status": {"conditions": conditions}}
    answers = {"NIMCache/nim/llama": cache(buildable)}
    if pod:
        meta = {"name": BUILD_POD, "ownerReferences": [owner_reference(cr)]}
        answers[f"Pod/nim/{BUILD_POD}"] = {
            "metadata": meta, "spec": {"containers": []}, "status": pod,
        }  # fmt: skip
    step = next_step(NIMBuildApp(cr, Observed(answers)))
    assert (step.stage, list(step.kept)) == (stage, kept)
    assert (step.pod is not None) is (stage in ("to build", "reading"))
    assert step.problem is None


@pytest.mark.parametrize(
    ("listed", "stage"),
    [
        pytest.param(None, "cache missing", id="no cache"),
        pytest.param({"state": "Failed"}, "cache failed", id="failed"),
        pytest.param({"state": "NotReady"}, "cache awaited", id="not ready"),
        pytest.param({"state": ""}, "cache awaited", id="new"),
    ],
)
def test_next_step_stage_cache_not_ready(build, cache, listed, stage):
    answers = {"NIMCache/nim/llama": None if listed is None else cache(**listed)}
    step = next_step(NIMBuildApp(build(), Observed(answers)))
    assert step.stage == stage
    assert list(step.kept) == ([] if listed is None else [BUILD_POD, MANIFEST_POD])
