# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""R19: what a download fetches, and how far it is."""

from __future__ import annotations

import pytest

JOB = "Job/nim/llama-job"
NGC = {"modelPuller": "x:1", "authSecret": "s"}
HF = {
    "endpoint": "https://huggingface.co",
    "namespace": "hf",
    "modelName": "model",
    "modelPuller": "x:1",
    "authSecret": "s",
    "pullSecret": "p",
}
RUNNING = "The Job to cache NIM is in progress"
MANY = [f"profile-{number:02d}" for number in range(10)]


@pytest.mark.parametrize(
    ("source", "content", "count"),
    [
        ({"ngc": NGC | {"model": {"profiles": ["all"]}}}, "all 3 profiles of the image", 3),
        ({"ngc": NGC | {"model": {"profiles": ["aaaa"]}}}, "1 profile: aaaa", 1),
        ({"ngc": NGC | {"model": {"engine": "tensorrt", "precision": "fp8"}}}, "1 profile: aaaa", 1),
        (
            {"ngc": NGC | {"model": {"profiles": MANY}}},
            f"10 profiles: {', '.join(MANY[:8])}, …",
            10,
        ),
        ({"hf": HF}, "", None),
    ],
    ids=["all", "one", "selected", "many", "hf"],
)  # fmt: skip
def test_describe_progress(world, source, content, count):
    cluster = world(source=source)
    cluster.reconcile()
    cluster.run_pod()
    assert JOB in cluster.reconcile().applied
    fetches = f": it fetches {content}" if content else ""
    assert cluster.condition("Reconciling")[2] == f"The Job to cache NIM has been created{fetches}"
    join = "; " if content else ": "
    for status, stage in (
        ({"active": 1, "ready": 0}, "its pod is not running yet"),
        ({"active": 1, "ready": 1}, "its pod is running"),
    ):
        cluster.set_job(**status)
        cluster.reconcile()
        assert cluster.condition("Reconciling")[2] == f"{RUNNING}{fetches}{join}{stage}"
        assert cluster.condition("NIM_CACHE_JOB_PENDING")[2] == RUNNING
    assert cluster.cr["status"]["download"].get("profiles") == count
    cluster.set_job(active=1, failed=2, ready=0)
    cluster.reconcile()
    assert "(2 of 6 attempts failed)" in cluster.condition("Reconciling")[2]


@pytest.mark.parametrize(
    ("status", "is_read"),
    [({"active": 1}, True), ({"active": 1, "ready": 1}, True), ({"failed": 1}, False)],
)
def test_describe_progress_pending_pod(world, status, is_read):
    """A class of storage that does not exist: the pod waits for its claim, which the message reports."""
    cluster = world(source={"hf": HF})
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    why = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"
    scheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": why,
    }
    pod = {
        "metadata": {"name": "llama-job-x"},
        "status": {"phase": "Pending", "conditions": [scheduled]},
    }
    cluster.job_pods = [pod]
    cluster.set_job(**status)
    done = cluster.reconcile()
    assert ("Pod/nim/*?job-name=llama-job" in done.keys) is is_read
    message = cluster.condition("Reconciling")[2]
    assert ("its pod is not running yet; Pod llama-job-x: Unschedulable: 0/3 nodes" in message) is (
        status == {"active": 1}
    )


REFUSED = (
    'Error creating: pods "llama-job-" is forbidden: exceeded quota: tenant, requested: requests.memory=8Gi,'
    " used: requests.memory=60Gi, limited: requests.memory=64Gi"
)


@pytest.mark.parametrize(
    ("status", "is_reported"),
    [
        ({}, True),
        ({"failed": 1}, True),
        ({"active": 1}, False),
        ({"active": 1, "ready": 1}, False),
    ],
)
def test_describe_progress_refused_pod(world, status, is_reported):
    """The controller of Jobs reports in events only that the API server refuses their pods."""
    cluster = world(source={"hf": HF}, resources={"memory": "8Gi"})
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    cluster.set_job(**status)
    cluster.refusal = REFUSED
    done = cluster.reconcile()
    assert ("Job/nim/llama-job#refusals" in done.keys) is is_reported
    text = f"FailedCreate: {REFUSED} (change spec.resources.memory, or ask for a larger quota)"
    assert (text in str(cluster.condition("Reconciling"))) is is_reported
    assert not cluster.reconcile().events


def test_describe_progress_without_manifest(world):
    """The download does not need the manifest; the text does without the number."""
    cluster = world(source={"ngc": NGC | {"model": {"profiles": ["all"]}}})
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert ("Normal", "ProfilesSelected") in done.events
    del cluster.cr["status"]["download"]
    cluster.objects["ConfigMap/nim/llama-manifest"]["data"] = {}
    cluster.set_job(active=1)
    cluster.reconcile()
    assert "it fetches all profiles of the image" in cluster.condition("Reconciling")[2]
    assert "download" not in cluster.cr["status"]


def test_count_profiles_reads_manifest_once(world, monkeypatch):
    cluster = world(source={"ngc": NGC | {"model": {"profiles": ["all"]}}})
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    cluster.objects["ConfigMap/nim/llama-manifest"]["data"] = {}
    cluster.set_job(active=1)
    cluster.reconcile()
    assert "all 3 profiles" in cluster.condition("Reconciling")[2]
