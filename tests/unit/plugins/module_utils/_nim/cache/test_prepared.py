# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Claims that an administrator filled."""

from __future__ import annotations

import pytest

CLAIM, JOB, POD = "PersistentVolumeClaim/nim/models", "Job/nim/llama-job", "Pod/nim/llama-pod"
PREPARED, SIZE = "nimops.nim/prepared", "nimops.nim/model-size"
HF = {
    "endpoint": "https://hf.example",
    "namespace": "org",
    "modelName": "m",
    "modelPuller": "nvcr.io/nim/llm:1",
    "pullSecret": "s",
    "authSecret": "a",
}


@pytest.fixture
def prepared(world):
    """A NIMCache of the claim `models`, which exists unless ``is_missing``."""

    def make(value="true", *, is_missing=False, pvc=None, **spec):
        cluster = world(pvc=pvc or {"name": "models"}, **spec)
        cluster.cr["metadata"]["annotations"] = {PREPARED: value}
        if not is_missing:
            cluster.objects[CLAIM] = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "models", "namespace": "nim", "uid": "u-claim"},
                "spec": {"resources": {"requests": {"storage": "1Gi"}}},
            }
        return cluster

    return make


def test_prepared_record_of_profiles(prepared):
    cluster = prepared()
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert (cluster.state, JOB in cluster.objects) == ("Ready", False)
    assert [item["name"] for item in cluster.cr["status"]["profiles"]] == ["aaaa"]
    assert cluster.cr["status"]["pvc"] == "models"
    assert ("Normal", "ClaimPrepared") in done.events
    _status, reason, message = cluster.condition("NIM_CACHE_JOB_COMPLETED")
    assert reason == "ClaimPrepared"
    assert "PersistentVolumeClaim models holds the model according to the annotation" in message
    again = cluster.reconcile()
    assert (again.applied, again.pruned, again.events) == ([], [], [])
    assert again.desired.patches == []


@pytest.mark.parametrize("value", ["true", " True "])
def test_is_prepared_needs_no_pod(prepared, value):
    """Only profiles need the image: a model of Hugging Face is Ready in the first pass."""
    cluster = prepared(value, source={"hf": HF})
    cluster.reconcile()
    assert (cluster.state, POD in cluster.objects, JOB in cluster.objects) == (
        "Ready",
        False,
        False,
    )


@pytest.mark.parametrize("value", ["false", ""])
def test_is_prepared_not(prepared, value):
    cluster = prepared(value, source={"hf": HF})
    cluster.reconcile()
    cluster.run_pod("")
    cluster.run_pod("model_manifest.yaml not found\n")
    cluster.reconcile()
    assert (cluster.state == "Ready", JOB in cluster.objects) == (False, True)


def test_prepared_record_small_claim(prepared):
    """The size that the model needs does not matter: it is there."""
    cluster = prepared()
    cluster.cr["metadata"]["annotations"][SIZE] = "100Gi"
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    assert cluster.state == "Ready"


@pytest.mark.parametrize("pvc", [{"name": "models"}, {"name": "models", "create": True}])
def test_why_missing_creates_no_empty_claim(prepared, pvc):
    cluster = prepared(is_missing=True, pvc=pvc)
    done = cluster.reconcile()
    assert (cluster.state, CLAIM in cluster.objects) == ("NotReady", False)
    status, reason, message = cluster.condition("Stalled")
    assert (status, reason) == ("True", "PVCNotFound")
    assert 'PersistentVolumeClaim "models" not found' in message
    assert ("create and fill it" in message) == bool(pvc.get("create"))
    assert done.assessment.requeue.after, "no watch reports the claim of another owner"


@pytest.mark.parametrize("is_missing", [True, False])
def test_prepared_record_invalid(prepared, is_missing):
    cluster = prepared("yes", is_missing=is_missing, pvc={"name": "models", "create": True})
    cluster.reconcile()
    if not is_missing:
        cluster.run_pod()
        cluster.reconcile()
    status, reason, message = cluster.condition("Stalled")
    assert (status, reason) == ("True", "InvalidAnnotation")
    assert f"metadata.annotations[{PREPARED}]: 'yes' is neither true nor false" in message
    assert (CLAIM in cluster.objects, JOB in cluster.objects) == (not is_missing, False)


def test_prepared_record_ready_stays(prepared):
    """Without the annotation, a Ready cache stays Ready."""
    cluster = prepared(source={"hf": HF})
    cluster.reconcile()
    cluster.cr["metadata"]["annotations"] = {}
    cluster.reconcile()
    assert (cluster.state, JOB in cluster.objects) == ("Ready", False)


def test_prepared_record_lost_claim(prepared):
    """The claim is gone: nothing is downloaded in its place."""
    cluster = prepared(source={"hf": HF}, pvc={"name": "models", "create": True})
    cluster.reconcile()
    del cluster.objects[CLAIM]
    cluster.reconcile()
    cluster.reconcile()
    assert (cluster.state, CLAIM in cluster.objects, JOB in cluster.objects) == (
        "NotReady", False, False,
    )  # fmt: skip
    assert cluster.condition("Stalled")[1] == "PVCNotFound"
