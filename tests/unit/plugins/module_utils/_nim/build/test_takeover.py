# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMBuilds of the reference operator, in each state that it stores or fails to store."""

from __future__ import annotations

import pytest

BUILD_POD, MANIFEST_POD = "engine-engine-build-pod", "engine-local-manifest-pod"
TIME = "2026-01-01T00:00:00Z"
FOUND = "NIM_BUILD_SINGLE_BUILDABLE_PROFILE_FOUND"
MADE = "NIM_BUILD_ENGINE_BUILD_POD_CREATED"
PENDING = "NIM_BUILD_ENGINE_BUILD_POD_PENDING"
COMPLETED = "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED"
READ = "NIM_BUILD_MODEL_MANIFEST_POD_COMPLETED"
FAILED = "NIM_BUILD_RECONCILE_FAILED"
LISTED = {"name": "cccc", "config": {"model_name": "engine", "input_profile": "aaaa"}}
PLAIN_MANIFEST = "cccc:\n  model: m\n  tags: {model_name: engine}\n"
"""The log of the reference's pod, without our marks."""


def recorded(state, *true, **conditions):
    """A status in the reference's form, with these conditions."""
    kinds = {
        "found": FOUND, "made": MADE, "pending": PENDING, "completed": COMPLETED, "read": READ,
        "failed": FAILED,
    }  # fmt: skip
    entry = {"reason": "Recorded", "message": "", "lastTransitionTime": TIME}
    listed = [
        entry | {"type": kinds[name], "status": status}
        for name, status in (dict.fromkeys(true, "True") | conditions).items()
    ]
    return {"state": state, "inputProfile": {}, "outputProfile": {}, "conditions": listed}


def pod_of(name, *, ready=False, phase="Running"):
    owner = {"kind": "NIMBuild", "name": "engine", "uid": "u-build", "controller": True}
    env = [{"name": "NIM_MODEL_PROFILE", "value": "aaaa"}]
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "nim", "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "c", "env": env}]},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": str(ready)}]},
    }


FAILED_BUILD = recorded("Failed", "found", "made", "pending", completed="False")
PENDING_BUILD = recorded("InProgress", "found", "made", "pending")
COMPLETED_BUILD = recorded("InProgress", "found", "made", "pending", "completed")
READING = recorded("Pending", "found", "made", "completed", "failed")
READ_WITH_ERROR = recorded("Pending", "made", "completed", "read", "failed")


@pytest.mark.parametrize(
    ("status", "pods", "applied", "pruned", "state"),
    [
        pytest.param(None, [], [BUILD_POD], [], "InProgress", id="new"),
        pytest.param(recorded("InProgress", "found", "made"), [pod_of(BUILD_POD)], [], [], "InProgress", id="building"),
        pytest.param(PENDING_BUILD, [pod_of(BUILD_POD, ready=True)], [], [], "InProgress", id="built"),
        pytest.param(PENDING_BUILD, [], [BUILD_POD], [], "InProgress", id="stuck-without-a-pod"),
        pytest.param(FAILED_BUILD, [pod_of(BUILD_POD, phase="Failed")], [], [], "Failed", id="failed"),
        pytest.param(FAILED_BUILD, [], [BUILD_POD], [], "InProgress", id="stuck-failed-without-a-pod"),
        pytest.param(
            COMPLETED_BUILD, [pod_of(BUILD_POD, ready=True)], [MANIFEST_POD], [BUILD_POD], "InProgress", id="completed",
        ),
        pytest.param(READING, [pod_of(MANIFEST_POD, phase="Pending")], [], [], "InProgress", id="manifest-awaited"),
        pytest.param(READ_WITH_ERROR, [pod_of(MANIFEST_POD)], [], [MANIFEST_POD], "Ready", id="ready-with-an-old-error"),
        pytest.param(recorded("Pending", "failed"), [], [BUILD_POD], [], "InProgress", id="error-before-the-first-status"),
    ],
)  # fmt: skip
def test_takeover_next_step(world, status, pods, applied, pruned, state):
    cluster = world()
    if status:
        cluster.put(cluster.cr | {"status": status})
    for pod in pods:
        cluster.put(pod)
    done = cluster.reconcile()
    assert done.applied == [f"Pod/nim/{name}" for name in applied]
    assert done.pruned == [f"Pod/nim/{name}" for name in pruned]
    assert cluster.state == state
    if cluster.condition(FAILED):
        assert cluster.condition(FAILED) == ("False", "Reconciled", "")


@pytest.mark.parametrize("listed", [False, True])
def test_takeover_reads_manifest_pod(world, listed):
    cluster = world()
    profile = {"name": "aaaa", "config": {"trtllm_buildable": "true"}}
    status = recorded("InProgress", "made", "completed") | {"inputProfile": profile}
    cluster.put(cluster.cr | {"status": status})
    cluster.put(pod_of(MANIFEST_POD))
    cluster.set_cache(profiles=[profile, LISTED] if listed else [profile])
    cluster.log = PLAIN_MANIFEST
    cluster.reconcile()
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert [item["name"] for item in cluster.profiles] == ["aaaa", "cccc"]
    assert cluster.profiles[1]["config"]["input_profile"] == "aaaa"
    assert cluster.status["outputProfile"]["name"] == "cccc"


def test_takeover_ready_build(world):
    cluster = world()
    status = recorded("Ready", "found", "made", "pending", "completed", "read")
    status |= {"inputProfile": {"name": "aaaa"}, "outputProfile": {"name": "cccc"}}
    cluster.put(cluster.cr | {"status": status})
    cluster.reconcile()
    after = cluster.status
    assert after.pop("observedGeneration") == 1
    assert after["conditions"].pop()["type"] == "Ready"
    assert after == status


def test_takeover_config_map(world):
    cluster = world().become_built().print_manifest()
    live = cluster.get("ConfigMap/nim/llama-manifest")
    live["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "k8s-nim-operator"
    fields = {
        "f:metadata": {"f:labels": {"f:app.kubernetes.io/managed-by": {}}},
        "f:data": {"f:model_manifest.yaml": {}},
    }
    entry = {
        "manager": "manager", "operation": "Update", "apiVersion": "v1",
        "fieldsType": "FieldsV1", "fieldsV1": fields,
    }  # fmt: skip
    live["metadata"]["managedFields"] = [entry]
    cluster.put(live)
    assert cluster.reconcile().applied == ["ConfigMap/nim/llama-manifest"]
    data = cluster.get("ConfigMap/nim/llama-manifest")["data"]
    assert sorted(data) == ["local_model_manifest.yaml", "model_manifest.yaml"]
