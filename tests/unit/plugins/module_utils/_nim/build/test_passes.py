# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A build pass by pass: objects created, stored and deleted, in order."""

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError

BUILD_POD, MANIFEST_POD = "engine-engine-build-pod", "engine-local-manifest-pod"
COMPLETED = "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED"
MADE = "NIM_BUILD_ENGINE_BUILD_POD_CREATED"
READ = "NIM_BUILD_MODEL_MANIFEST_POD_COMPLETED"
FAILED = "NIM_BUILD_RECONCILE_FAILED"
BUILT = {
    "name": "cccc",
    "model": "meta/llama",
    "release": "1.12.0",
    "config": {"model_name": "engine", "tp": "2", "gpu": "H100"},
}
LISTED = BUILT | {"config": {**BUILT["config"], "input_profile": "aaaa"}}
NAMESAKE = {"kind": "NIMBuild", "name": "engine", "uid": "u-old", "controller": True}
FOREIGNER = {"kind": "Deployment", "name": "engine", "uid": "u-x", "controller": True}


def types(world):
    return [item["type"] for item in world.status["conditions"]]


def test_reconcile_start_to_ready(world, buildable):
    cluster = world()
    first = cluster.reconcile()
    assert first.applied == [f"Pod/nim/{BUILD_POD}"]
    assert first.events == [("Normal", "InProgress")]
    assert (cluster.state, cluster.status["inputProfile"]) == ("InProgress", buildable)
    assert cluster.status["outputProfile"] == {}
    assert cluster.condition(MADE) == (
        "True", "EngineBuildPodCreated", "The pod to build engine has been created"
    )  # fmt: skip
    assert cluster.condition("NIM_BUILD_SINGLE_BUILDABLE_PROFILE_FOUND") == (
        "True", "BuildableProfileFound", "Single buildable profile cached in NIM Cache"
    )  # fmt: skip

    assert cluster.reconcile().applied == []
    assert cluster.condition("NIM_BUILD_ENGINE_BUILD_POD_PENDING") == (
        "True", "PodRunning", "The Pod to build engine is in progress"
    )  # fmt: skip

    cluster.set_pod(BUILD_POD, ready=True)
    third = cluster.reconcile()
    assert (third.applied, third.pruned, cluster.state) == ([], [], "InProgress")
    assert cluster.condition(COMPLETED) == (
        "True", "PodReady", "The Pod to build engine has successfully completed"
    )  # fmt: skip

    fourth = cluster.reconcile()
    assert fourth.applied == [f"Pod/nim/{MANIFEST_POD}"]
    assert fourth.pruned == [f"Pod/nim/{BUILD_POD}"]

    cluster.print_manifest()
    fifth = cluster.reconcile()
    assert (fifth.applied, fifth.pruned) == (["ConfigMap/nim/llama-manifest"], [])
    assert (cluster.state, cluster.status["outputProfile"]) == ("InProgress", BUILT)
    assert cluster.profiles[2:] == [LISTED]

    sixth = cluster.reconcile()
    assert (cluster.state, sixth.pruned, sixth.events) == ("Ready", [], [("Normal", "Ready")])
    assert cluster.condition(READ) == (
        "True", "PodCompleted", "The Pod to read local model manifest is completed"
    )  # fmt: skip
    assert "Reconciling" not in types(cluster)

    assert cluster.reconcile().pruned == [f"Pod/nim/{MANIFEST_POD}"]
    assert cluster.pods == []
    assert [item.report.period for item in (first, third, fourth, fifth, sixth)] == ["1s"] * 5


def test_reconcile_finished_build(world):
    cluster = world().become_ready()
    cluster.reconcile()
    before = copy.deepcopy(cluster.cluster.objects)
    done = cluster.reconcile()
    assert done.asked == [f"Pod/nim/{BUILD_POD}", f"Pod/nim/{MANIFEST_POD}"]
    assert (done.report.changed, done.report.period) == (False, "")
    assert cluster.cluster.objects == before


def test_reconcile_profile_listed_later(world, cache, buildable):
    cluster = world(cache=cache())
    cluster.reconcile()
    cluster.set_cache(profiles=[buildable])
    assert cluster.reconcile().applied == [f"Pod/nim/{BUILD_POD}"]
    assert "NIM_BUILD_NO_BUILDABLE_PROFILE_FOUND" not in types(cluster)


def test_reconcile_keeps_running_pod(world, buildable):
    cluster = world()
    cluster.reconcile()
    cluster.set_cache(profiles=[buildable, buildable | {"name": "eeee"}])
    cluster.set_pod(BUILD_POD)
    assert cluster.reconcile().pruned == []
    assert cluster.state == "InProgress"


def test_reconcile_recreates_lost_pod(world):
    cluster = world()
    cluster.reconcile()
    cluster.reconcile()
    cluster.remove(f"Pod/nim/{BUILD_POD}")
    done = cluster.reconcile()
    assert done.applied == [f"Pod/nim/{BUILD_POD}"]
    assert done.events == [("Warning", "EngineBuildPodLost")]
    assert cluster.state == "InProgress"
    assert "NIM_BUILD_ENGINE_BUILD_POD_PENDING" not in types(cluster)


def test_reconcile_waits_for_terminating_pod(world):
    cluster = world()
    cluster.reconcile()
    pod = cluster.get(f"Pod/nim/{BUILD_POD}")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.set_pod(BUILD_POD, ready=True)
    done = cluster.reconcile()
    assert (done.applied, done.pruned, cluster.state) == ([], [], "Pending")
    assert cluster.condition("Reconciling")[1] == "WaitingForPod"
    cluster.remove(f"Pod/nim/{BUILD_POD}")
    assert cluster.reconcile().applied == [f"Pod/nim/{BUILD_POD}"]


def test_reconcile_stores_completion_before_deletion(world, refused):
    cluster = world()
    cluster.reconcile()
    cluster.set_pod(BUILD_POD, ready=True)
    path = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimbuilds/engine/status"
    cluster.cluster.refuse["PATCH", path] = [refused(500, "etcd is busy")]
    with pytest.raises(ApiError, match="busy"):
        cluster.reconcile()
    assert cluster.pods == [BUILD_POD]
    assert cluster.reconcile().pruned == []
    assert cluster.condition(COMPLETED)[0] == "True"


@pytest.mark.parametrize("name", [BUILD_POD, MANIFEST_POD])
@pytest.mark.parametrize(("owner", "state"), [(NAMESAKE, "waits"), (FOREIGNER, "Pending")])
def test_reconcile_foreign_pod(world, name, owner, state):
    cluster = world()
    if name == MANIFEST_POD:
        cluster.become_built()
    meta = {"name": name, "ownerReferences": [owner]}
    cluster.put({"kind": "Pod", "metadata": meta, "spec": {"containers": []}})
    cluster.set_pod(name, ready=True)
    done = cluster.reconcile()
    assert f"Pod/nim/{name}" not in [*done.applied, *done.pruned]
    if state == "waits":
        assert "to be deleted" in cluster.condition("Reconciling")[2]
    else:
        assert cluster.condition(FAILED)[2] == (
            f"Pod {name} exists and was not created for this NIMBuild: delete or rename it, or"
            " recreate the NIMBuild under another name"
        )
        assert (cluster.state, done.report.period) == ("Pending", "4s")
    cluster.remove(f"Pod/nim/{name}")
    assert cluster.reconcile().applied == [f"Pod/nim/{name}"]
    assert (cluster.condition(FAILED) or ("False",))[0] == "False"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("", "to print the model manifest"),
        ("--- nimops: manifest begins ---\naaaa: {model: m}\n", "to print the model manifest"),
    ],
)
def test_reconcile_incomplete_manifest(world, log, message):
    cluster = world().become_built().print_manifest()
    cluster.log = log
    done = cluster.reconcile()
    assert (done.applied, cluster.state) == ([], "InProgress")
    assert cluster.condition("Reconciling")[1] == "WaitingForManifest"
    assert cluster.condition("Reconciling")[2].endswith(message)


def test_reconcile_recreates_manifest_pod(world):
    cluster = world().become_built().print_manifest()
    cluster.set_pod(MANIFEST_POD, "Failed")
    assert cluster.reconcile().pruned == [f"Pod/nim/{MANIFEST_POD}"]
    assert cluster.reconcile().applied == [f"Pod/nim/{MANIFEST_POD}"]


def test_reconcile_without_engine(world):
    cluster = world().become_built().print_manifest()
    cluster.log = "model_manifest.yaml not found\n"
    done = cluster.reconcile()
    assert (cluster.state, done.applied, done.pruned) == ("Failed", [], [])
    assert cluster.condition("Stalled")[1] == "NoLocalManifest"
    assert "/model-store/local_cache/local_manifest.yaml" in cluster.condition(FAILED)[2]
    assert cluster.reconcile().report.changed is False


def test_reconcile_unreadable_manifest(world):
    cluster = world().become_built().print_manifest("a: {b")
    done = cluster.reconcile()
    assert (cluster.state, done.pruned, done.report.period) == ("Pending", [], "4s")
    assert cluster.condition(FAILED)[2].startswith("the model manifest cannot be read")
    cluster.print_manifest()
    cluster.reconcile()
    assert cluster.state == "InProgress"


@pytest.mark.parametrize("uid", [None, "u-old"])
def test_reconcile_foreign_config_map(world, uid):
    cluster = world().become_built().print_manifest()
    live = copy.deepcopy(cluster.get("ConfigMap/nim/llama-manifest"))
    cluster.remove("ConfigMap/nim/llama-manifest")
    if uid:
        other = copy.deepcopy(live)
        other["metadata"]["ownerReferences"][0]["uid"] = uid
        cluster.put(other)
    done = cluster.reconcile()
    assert (cluster.state, done.applied, done.report.period) == ("Pending", [], "4s")
    assert 'ConfigMap "llama-manifest" not found' in cluster.condition(FAILED)[2]
    cluster.put(live)
    assert cluster.reconcile().applied == ["ConfigMap/nim/llama-manifest"]


def test_reconcile_engine_not_in_manifest(world):
    cluster = world(modelName="mine").become_built().print_manifest()
    cluster.reconcile()
    assert (cluster.state, cluster.status["outputProfile"]) == ("Ready", {})
    assert len(cluster.profiles) == 2


def test_reconcile_profile_already_listed(world, buildable):
    cluster = world().become_built().print_manifest()
    listed = [buildable, {"name": "cccc", "config": {"mine": "1"}}]
    cluster.set_cache(profiles=listed)
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert cluster.profiles == listed


def test_reconcile_concurrent_cache_write(world):
    cluster = world().become_built().print_manifest()
    done = cluster.reconcile(meanwhile=lambda: cluster.set_cache(profiles=[], state="NotReady"))
    assert (cluster.profiles, cluster.state) == ([], "InProgress")
    assert (done.report.error, done.report.period) == ("", "1s")
    cluster.reconcile()
    assert (cluster.profiles, cluster.state) == ([], "Pending")


def test_reconcile_concurrent_builds(world):
    other = {"name": "zzzz", "config": {"model_name": "another", "input_profile": "aaaa"}}
    cluster = world().become_built().print_manifest()
    cluster.reconcile(meanwhile=lambda: cluster.set_cache(profiles=[*cluster.profiles, other]))
    assert cluster.profiles[2:] == [other]
    assert cluster.state == "InProgress"
    cluster.reconcile()
    assert cluster.profiles[2:] == [other, LISTED]
    cluster.reconcile()
    assert cluster.state == "Ready"


def test_reconcile_lost_volume(world):
    """Otherwise our pod would block the deletion of the claim, for which the cache waits."""
    cluster = world().become_built().print_manifest()
    claim = cluster.get("PersistentVolumeClaim/nim/llama-pvc")
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    done = cluster.reconcile()
    assert (done.pruned, cluster.state) == ([f"Pod/nim/{MANIFEST_POD}"], "Pending")
    assert cluster.condition("Reconciling")[1] == "WaitingForPVC"
    assert COMPLETED not in types(cluster)
    cluster.remove("PersistentVolumeClaim/nim/llama-pvc")
    cluster.put(claim | {"metadata": {"name": "llama-pvc"}})
    done = cluster.reconcile()
    assert (done.applied, done.events) == ([f"Pod/nim/{BUILD_POD}"], [("Normal", "InProgress")])


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("leaving", [False, True])
def test_reconcile_deletes_pods_with_cache(world, ready, leaving):
    cluster = world()
    cluster.reconcile()
    cluster.set_pod(BUILD_POD, ready=ready)
    if leaving:
        cluster.get("NIMCache/nim/llama")["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    else:
        cluster.remove("NIMCache/nim/llama")
    assert cluster.reconcile().pruned == [f"Pod/nim/{BUILD_POD}"]
    assert cluster.state == "Failed"


@pytest.mark.parametrize("state", ["NotReady", "Failed"])
def test_reconcile_keeps_pods_with_volume(world, state):
    cluster = world()
    cluster.reconcile()
    cluster.set_cache(state=state)
    assert cluster.reconcile().pruned == []
    cluster.set_cache(state="Ready")
    done = cluster.reconcile()
    assert (done.applied, cluster.state) == ([], "InProgress")


def test_reconcile_deleted_build(world):
    cluster = world()
    cluster.cr["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    done = cluster.reconcile()
    assert (done.applied, done.report.changed, "status" in cluster.cr) == ([], False, False)


def many_built(count):
    return [{"name": f"b{n}", "config": {"input_profile": "aaaa"}} for n in range(count)]


def test_reconcile_full_cache(world, buildable):
    made = world().become_built().print_manifest()
    listed = [buildable, *many_built(32)]
    made.set_cache(profiles=listed)
    made.reconcile()
    assert made.profiles == listed
    assert made.condition("Stalled")[1] == "NIMCacheFull"


PLACED = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}


def change(cluster, **spec):
    """Change fields of the spec, as a user does."""
    cr = copy.deepcopy(cluster.cr)
    cr["metadata"]["generation"] += 1
    cluster.put({**cr, "spec": cr["spec"] | spec})


@pytest.mark.parametrize("spec", [PLACED, {"modelName": "other"}, {"env": [{"name": "A"}]}])
def test_reconcile_changed_spec_recreates_build_pod(world, spec):
    cluster = world()
    cluster.reconcile()
    change(cluster, **spec)
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([], [f"Pod/nim/{BUILD_POD}"])
    assert ("Normal", "SpecChanged") in done.events
    assert cluster.condition("Reconciling")[1] == "SpecChanged"
    again = cluster.reconcile()
    assert again.applied == [f"Pod/nim/{BUILD_POD}"]
    assert ("Warning", "EngineBuildPodLost") not in again.events
    assert cluster.reconcile().pruned == []


def test_reconcile_changed_spec_keeps_engine(world):
    cluster = world()
    cluster.reconcile()
    cluster.set_pod(BUILD_POD, ready=True)
    change(cluster, **PLACED)
    cluster.reconcile()
    assert cluster.condition(COMPLETED)[0] == "True"
    cluster.print_manifest()
    change(cluster, tolerations=[])
    assert f"Pod/nim/{MANIFEST_POD}" in cluster.reconcile().pruned
    cluster.print_manifest().reconcile()
    cluster.reconcile()
    assert cluster.state == "Ready"


def test_reconcile_changed_engine_builds_anew(world):
    """The change was accepted just before the status recorded the engine."""
    cluster = world()
    cluster.reconcile()
    cluster.set_pod(BUILD_POD, ready=True)
    change(cluster, modelName="other")
    assert cluster.reconcile().pruned == [f"Pod/nim/{BUILD_POD}"]


def test_reconcile_upgrade_keeps_build_pod(world):
    cluster = world()
    cluster.reconcile()
    pod = cluster.get(f"Pod/nim/{BUILD_POD}")
    del pod["metadata"]["annotations"]
    pod["spec"]["priority"] = 1
    cluster.put(pod)
    assert cluster.reconcile().pruned == []
