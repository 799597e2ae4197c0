# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A build from pass to pass: what is made, stored and deleted, and in which order."""

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError

Json = dict[str, t.Any]
Make = t.Callable[..., t.Any]

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


def types(world: t.Any) -> list[str]:
    return [item["type"] for item in world.status["conditions"]]


def test_usual_way(world: Make, buildable: Json) -> None:
    cluster = world()
    first = cluster.reconcile()
    assert first.applied == [f"Pod/{BUILD_POD}"]
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
    assert fourth.applied == [f"Pod/{MANIFEST_POD}"]
    assert fourth.pruned == [f"Pod/{BUILD_POD}"]

    cluster.print_manifest()
    fifth = cluster.reconcile()
    assert (fifth.applied, fifth.pruned) == (["ConfigMap/llama-manifest"], [])
    assert (cluster.state, cluster.status["outputProfile"]) == ("InProgress", BUILT)
    assert cluster.profiles[2:] == [LISTED]

    sixth = cluster.reconcile()
    assert (cluster.state, sixth.pruned, sixth.events) == ("Ready", [], [("Normal", "Ready")])
    assert cluster.condition(READ) == (
        "True", "PodCompleted", "The Pod to read local model manifest is completed"
    )  # fmt: skip
    assert "Reconciling" not in types(cluster)

    assert cluster.reconcile().pruned == [f"Pod/{MANIFEST_POD}"]
    assert cluster.pods == []
    assert [item.report.period for item in (first, third, fourth, fifth, sixth)] == ["1s"] * 5


def test_a_settled_build_writes_nothing_and_asks_for_its_pods_only(world: Make) -> None:
    cluster = world().become_ready()
    cluster.reconcile()
    before = copy.deepcopy(cluster.cluster.objects)
    done = cluster.reconcile()
    assert done.asked == [f"Pod/{BUILD_POD}", f"Pod/{MANIFEST_POD}"]
    assert (done.report.changed, done.report.period) == (False, "")
    assert cluster.cluster.objects == before


def test_what_is_read_on_the_way(world: Make) -> None:
    pods = [f"Pod/{BUILD_POD}", f"Pod/{MANIFEST_POD}"]
    first = [*pods, "NIMCache/llama"]
    claim = "PersistentVolumeClaim/llama-pvc"
    cluster = world()
    assert cluster.reconcile().asked == [*first, "Node"]
    assert cluster.reconcile().asked == [*first, claim]
    cluster.set_pod(BUILD_POD, ready=True)
    cluster.reconcile()
    assert cluster.reconcile().asked == [*first, claim, "Node"]
    assert cluster.reconcile().asked == [*first, claim, "ConfigMap/llama-manifest"]
    cluster.print_manifest()
    assert cluster.reconcile().asked == [*first, claim, "ConfigMap/llama-manifest", "log"]


@pytest.mark.parametrize(
    ("status", "state", "condition", "stalled"),
    [
        pytest.param(
            None, "Failed",
            ("NOT_FOUND", "NIMCacheNotFound", "Not able to get NIMCache for NIMBuild"), True,
            id="missing",
        ),
        pytest.param(
            "Failed", "Failed",
            ("FAILED", "NIMCacheFailed", "NIMCache is failed. NIMBuild can not progress"), True,
            id="failed",
        ),
        *(
            pytest.param(
                state, "Pending",
                (
                    "WAIT", "NIMCacheNotReady",
                    "Waiting for NIMCache to be ready before building engines",
                ),
                False, id=state or "new",
            )
            for state in ("", "Started", "InProgress", "NotReady", "Pending", "PVC-Created")
        ),
    ],
)  # fmt: skip
def test_the_cache_decides_first(
    world: Make, cache: Make, buildable: Json, status: str | None, state: str,
    condition: tuple[str, str, str], stalled: bool,
) -> None:  # fmt: skip
    kind = {
        "NOT_FOUND": "NIM_BUILD_NIM_CACHE_NOT_FOUND",
        "FAILED": "NIM_BUILD_NIM_CACHE_FAILED",
        "WAIT": "NIM_BUILD_WAIT_FOR_NIM_CACHE_READY",
    }[condition[0]]
    cluster = world(cache={} if status is None else cache(buildable, state=status))
    done = cluster.reconcile()
    assert (done.applied, cluster.state) == ([], state)
    assert cluster.condition(kind) == ("True", *condition[1:])
    assert types(cluster) == [kind, "Stalled" if stalled else "Reconciling"]
    assert done.events == [("Warning" if stalled else "Normal", state)]
    assert done.report.period
    assert done.report.error == ""
    again = cluster.reconcile()
    assert (again.report.changed, again.events) == (False, [])

    cluster.put(cache(buildable))
    assert cluster.reconcile().applied == [f"Pod/{BUILD_POD}"]
    assert kind not in types(cluster)
    assert cluster.state == "InProgress"


def test_a_cache_that_comes_then_fails_has_one_condition(world: Make, cache: Make) -> None:
    cluster = world(cache={})
    cluster.reconcile()
    cluster.put(cache(state="Failed"))
    cluster.reconcile()
    assert types(cluster) == ["NIM_BUILD_NIM_CACHE_FAILED", "Stalled"]


@pytest.mark.parametrize(
    ("names", "asked", "kind", "reason", "message"),
    [
        pytest.param(
            [], None, "NO_BUILDABLE_PROFILE", "NoBuildableProfilesFound",
            "No buildable profiles found for NIM Cache", id="none",
        ),
        pytest.param(
            [], "aaaa", "NO_BUILDABLE_PROFILE", "NoBuildableProfilesFound",
            "No buildable profiles found, please select a valid profile from the NIM cache",
            id="named-none",
        ),
        pytest.param(
            ["aaaa"], "bbbb", "NO_BUILDABLE_PROFILE", "NoBuildableProfilesFound",
            "No buildable profiles found, please select a valid profile from the NIM cache",
            id="named-another",
        ),
        pytest.param(
            ["aaaa", "eeee"], "", "MULTIPLE_BUILDABLE_PROFILES", "MultipleBuildableProfilesFound",
            "Multiple buildable profiles found in NIM Cache, please select one profile to build",
            id="several",
        ),
        pytest.param(
            ["aaaa"], "", "SINGLE_BUILDABLE_PROFILE", "BuildableProfileFound",
            "Single buildable profile cached in NIM Cache", id="one",
        ),
        pytest.param(
            ["aaaa", "eeee"], "eeee", "SINGLE_BUILDABLE_PROFILE", "BuildableProfileFound",
            "Single buildable profile found", id="named",
        ),
    ],
)  # fmt: skip
def test_choice_of_the_profile(
    world: Make, cache: Make, buildable: Json, names: list[str], asked: str | None, kind: str,
    reason: str, message: str,
) -> None:  # fmt: skip
    config = {"trtllm_buildable": "True"}
    profiles = [buildable | {"name": name} for name in names]
    chosen = {"name": "llama"} | ({} if asked is None else {"profile": asked})
    listing = cache(*profiles, {"name": "no-tags"}, {"name": "bbbb", "config": config})
    cluster = world(cache=listing, nimCache=chosen)
    done = cluster.reconcile()
    assert cluster.condition(f"NIM_BUILD_{kind}_FOUND") == ("True", reason, message)
    is_found = reason == "BuildableProfileFound"
    assert cluster.state == ("InProgress" if is_found else "Failed")
    assert bool(done.applied) is is_found
    assert cluster.status["inputProfile"].get("name") == ((asked or "aaaa") if is_found else None)
    assert ("Stalled" in types(cluster)) is not is_found
    assert len([item for item in types(cluster) if "PROFILE" in item]) == 1


def test_a_choice_that_becomes_possible_is_made(world: Make, cache: Make, buildable: Json) -> None:
    cluster = world(cache=cache())
    cluster.reconcile()
    cluster.set_cache(profiles=[buildable])
    assert cluster.reconcile().applied == [f"Pod/{BUILD_POD}"]
    assert "NIM_BUILD_NO_BUILDABLE_PROFILE_FOUND" not in types(cluster)


def test_a_pod_at_work_is_followed_whatever_the_cache_lists(world: Make, buildable: Json) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.set_cache(profiles=[buildable, buildable | {"name": "eeee"}])
    cluster.set_pod(BUILD_POD)
    assert cluster.reconcile().pruned == []
    assert cluster.state == "InProgress"


def test_waiting_tells_why(world: Make) -> None:
    cluster = world()
    cluster.reconcile()
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off"}
    cluster.set_pod(BUILD_POD, "Pending", containerStatuses=[{"state": {"waiting": waiting}}])
    cluster.reconcile()
    assert cluster.condition("Reconciling")[1:] == (
        "BuildingEngine",
        f"waiting for Pod {BUILD_POD} to build the engine: ImagePullBackOff Back-off",
    )


def test_a_pod_that_is_gone_is_made_anew(world: Make) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.reconcile()
    cluster.remove(f"Pod/{BUILD_POD}")
    done = cluster.reconcile()
    assert done.applied == [f"Pod/{BUILD_POD}"]
    assert done.events == [("Warning", "EngineBuildPodLost")]
    assert cluster.state == "InProgress"
    assert "NIM_BUILD_ENGINE_BUILD_POD_PENDING" not in types(cluster)


def test_a_pod_that_is_deleted_is_waited_for_then_made_anew(world: Make) -> None:
    cluster = world()
    cluster.reconcile()
    pod = cluster.get(f"Pod/{BUILD_POD}")
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster.set_pod(BUILD_POD, ready=True)
    done = cluster.reconcile()
    assert (done.applied, done.pruned, cluster.state) == ([], [], "Pending")
    assert cluster.condition("Reconciling")[1] == "WaitingForPod"
    cluster.remove(f"Pod/{BUILD_POD}")
    assert cluster.reconcile().applied == [f"Pod/{BUILD_POD}"]


@pytest.mark.parametrize(
    ("phase", "status", "why"),
    [
        pytest.param(
            "Failed",
            {
                "containerStatuses": [
                    {"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
                ]
            },
            "OOMKilled, exit code 137",
            id="out-of-memory",
        ),
        pytest.param(
            "Failed", {"reason": "Evicted", "message": "disk"}, "Evicted disk", id="evicted"
        ),
        pytest.param("Failed", {}, "no reason given", id="silent"),
        pytest.param(
            "Succeeded",
            {"containerStatuses": [{"state": {"terminated": {"exitCode": 0}}}]},
            "Ended, exit code 0",
            id="ended-early",
        ),
    ],
)
def test_a_failed_build(world: Make, phase: str, status: Json, why: str) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.set_pod(BUILD_POD, phase, **status)
    done = cluster.reconcile()
    assert (cluster.state, done.pruned, done.events) == ("Failed", [], [("Warning", "Failed")])
    assert cluster.condition(COMPLETED) == (
        "False",
        "PodFailed",
        "The pod to build engine has failed",
    )
    assert cluster.condition("Stalled")[1:] == (
        "PodFailed", f"Pod {BUILD_POD} ended: {why}; see its log. Delete it to build again"
    )  # fmt: skip
    assert cluster.reconcile().report.changed is False

    cluster.remove(f"Pod/{BUILD_POD}")
    again = cluster.reconcile()
    assert (again.applied, cluster.state) == ([f"Pod/{BUILD_POD}"], "InProgress")
    assert again.events == [("Normal", "InProgress")]
    assert COMPLETED not in types(cluster)


def test_completion_is_stored_before_the_pod_goes(world: Make, refused: t.Any) -> None:
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


def test_a_status_that_was_lost_is_found_again(world: Make, buildable: Json) -> None:
    """The pod was made, and then nothing was written."""
    cluster = world()
    cluster.reconcile()
    cluster.put({key: value for key, value in cluster.cr.items() if key != "status"})
    cluster.reconcile()
    assert (cluster.state, cluster.status["inputProfile"]) == ("InProgress", buildable)
    assert cluster.condition(MADE)[0] == "True"


@pytest.mark.parametrize("name", [BUILD_POD, MANIFEST_POD])
@pytest.mark.parametrize(("owner", "state"), [(NAMESAKE, "waits"), (FOREIGNER, "Pending")])
def test_pods_of_others(world: Make, name: str, owner: Json, state: str) -> None:
    cluster = world()
    if name == MANIFEST_POD:
        cluster.become_built()
    meta = {"name": name, "ownerReferences": [owner]}
    cluster.put({"kind": "Pod", "metadata": meta, "spec": {"containers": []}})
    cluster.set_pod(name, ready=True)
    done = cluster.reconcile()
    assert f"Pod/{name}" not in [*done.applied, *done.pruned]
    if state == "waits":
        assert "to be gone" in cluster.condition("Reconciling")[2]
    else:
        assert cluster.condition(FAILED)[2] == (
            f"Pod {name} exists and was not made for this NIMBuild: delete or rename it"
        )
        assert (cluster.state, done.report.period) == ("Pending", "4s")
    cluster.remove(f"Pod/{name}")
    assert cluster.reconcile().applied == [f"Pod/{name}"]
    assert (cluster.condition(FAILED) or ("False",))[0] == "False"


def test_a_refused_pod(world: Make) -> None:
    cluster = world()
    cluster.refused[f"Pod/{BUILD_POD}"] = "exceeded quota"
    done = cluster.reconcile()
    assert (cluster.state, done.report.error) == ("Pending", "exceeded quota")
    assert cluster.condition(FAILED) == ("True", "ReconcileFailed", "exceeded quota")
    assert done.events == [("Warning", "ReconcileFailed")]
    assert MADE not in types(cluster)
    assert cluster.status["inputProfile"] == {}
    cluster.refused.clear()
    cluster.reconcile()
    assert cluster.condition(FAILED) == ("False", "Reconciled", "")
    assert cluster.state == "InProgress"


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("", "to print the model manifest"),
        ("--- nimops: manifest begins ---\naaaa: {model: m}\n", "to print the model manifest"),
    ],
)
def test_an_incomplete_manifest_is_waited_for(world: Make, log: str, message: str) -> None:
    cluster = world().become_built().print_manifest()
    cluster.log = log
    done = cluster.reconcile()
    assert (done.applied, cluster.state) == ([], "InProgress")
    assert cluster.condition("Reconciling")[1] == "WaitingForManifest"
    assert cluster.condition("Reconciling")[2].endswith(message)


def test_a_manifest_pod_that_ended_is_made_anew(world: Make) -> None:
    cluster = world().become_built().print_manifest()
    cluster.set_pod(MANIFEST_POD, "Failed")
    assert cluster.reconcile().pruned == [f"Pod/{MANIFEST_POD}"]
    assert cluster.reconcile().applied == [f"Pod/{MANIFEST_POD}"]


def test_a_build_without_an_engine_has_failed(world: Make) -> None:
    cluster = world().become_built().print_manifest()
    cluster.log = "model_manifest.yaml not found\n"
    done = cluster.reconcile()
    assert (cluster.state, done.applied, done.pruned) == ("Failed", [], [])
    assert cluster.condition("Stalled")[1] == "NoLocalManifest"
    assert "/model-store/local_cache/local_manifest.yaml" in cluster.condition(FAILED)[2]
    assert cluster.reconcile().report.changed is False


def test_a_manifest_that_cannot_be_read_keeps_its_pod(world: Make) -> None:
    cluster = world().become_built().print_manifest("a: {b")
    done = cluster.reconcile()
    assert (cluster.state, done.pruned, done.report.period) == ("Pending", [], "4s")
    assert cluster.condition(FAILED)[2].startswith("the model manifest cannot be read")
    cluster.print_manifest()
    cluster.reconcile()
    assert cluster.state == "InProgress"


def test_config_map_keeps_what_it_has(world: Make) -> None:
    cluster = world().become_ready()
    live = cluster.get("ConfigMap/llama-manifest")
    assert live["data"] == {
        "model_manifest.yaml": "aaaa: {}\n",
        "local_model_manifest.yaml": (
            "cccc:\n  model: meta/llama\n  release: 1.12.0\n  tags:\n    gpu: H100\n"
            "    model_name: engine\n    tp: '2'\n"
            "dddd:\n  model: meta/llama\n  tags:\n    model_name: another\n"
        ),
    }
    assert live["metadata"]["labels"] == {"app": "llama", "app.kubernetes.io/part-of": "nim-cache"}
    assert [item["uid"] for item in live["metadata"]["ownerReferences"]] == ["u-cache"]


@pytest.mark.parametrize("uid", [None, "u-old"])
def test_the_config_map_must_be_that_of_the_cache(world: Make, uid: str | None) -> None:
    cluster = world().become_built().print_manifest()
    live = copy.deepcopy(cluster.get("ConfigMap/llama-manifest"))
    cluster.remove("ConfigMap/llama-manifest")
    if uid:
        other = copy.deepcopy(live)
        other["metadata"]["ownerReferences"][0]["uid"] = uid
        cluster.put(other)
    done = cluster.reconcile()
    assert (cluster.state, done.applied, done.report.period) == ("Pending", [], "4s")
    assert 'ConfigMap "llama-manifest" not found' in cluster.condition(FAILED)[2]
    cluster.put(live)
    assert cluster.reconcile().applied == ["ConfigMap/llama-manifest"]


def test_an_engine_that_the_manifest_does_not_name(world: Make) -> None:
    cluster = world(modelName="mine").become_built().print_manifest()
    cluster.reconcile()
    assert (cluster.state, cluster.status["outputProfile"]) == ("Ready", {})
    assert len(cluster.profiles) == 2


def test_a_profile_that_is_listed_already_is_left_alone(world: Make, buildable: Json) -> None:
    cluster = world().become_built().print_manifest()
    listed = [buildable, {"name": "cccc", "config": {"mine": "1"}}]
    cluster.set_cache(profiles=listed)
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert cluster.profiles == listed


def test_what_the_cache_writes_meanwhile_is_not_undone(world: Make) -> None:
    cluster = world().become_built().print_manifest()
    done = cluster.reconcile(meanwhile=lambda: cluster.set_cache(profiles=[], state="NotReady"))
    assert (cluster.profiles, cluster.state) == ([], "InProgress")
    assert (done.report.error, done.report.period) == ("", "1s")
    cluster.reconcile()
    assert (cluster.profiles, cluster.state) == ([], "Pending")


def test_builds_on_one_cache_do_not_undo_each_other(world: Make) -> None:
    other = {"name": "zzzz", "config": {"model_name": "another", "input_profile": "aaaa"}}
    cluster = world().become_built().print_manifest()
    cluster.reconcile(meanwhile=lambda: cluster.set_cache(profiles=[*cluster.profiles, other]))
    assert cluster.profiles[2:] == [other]
    assert cluster.state == "InProgress"
    cluster.reconcile()
    assert cluster.profiles[2:] == [other, LISTED]
    cluster.reconcile()
    assert cluster.state == "Ready"


def test_the_engine_goes_with_the_volume(world: Make) -> None:
    """Otherwise a pod of ours would hold the claim that the cache waits to be gone."""
    cluster = world().become_built().print_manifest()
    claim = cluster.get("PersistentVolumeClaim/llama-pvc")
    claim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    done = cluster.reconcile()
    assert (done.pruned, cluster.state) == ([f"Pod/{MANIFEST_POD}"], "Pending")
    assert cluster.condition("Reconciling")[1] == "WaitingForPVC"
    assert COMPLETED not in types(cluster)
    cluster.remove("PersistentVolumeClaim/llama-pvc")
    cluster.put(claim | {"metadata": {"name": "llama-pvc"}})
    done = cluster.reconcile()
    assert (done.applied, done.events) == ([f"Pod/{BUILD_POD}"], [("Normal", "InProgress")])


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("leaving", [False, True])
def test_pods_do_not_outlive_the_cache(world: Make, ready: bool, leaving: bool) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.set_pod(BUILD_POD, ready=ready)
    if leaving:
        cluster.get("NIMCache/llama")["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    else:
        cluster.remove("NIMCache/llama")
    assert cluster.reconcile().pruned == [f"Pod/{BUILD_POD}"]
    assert cluster.state == "Failed"


@pytest.mark.parametrize("state", ["NotReady", "Failed"])
def test_pods_stay_while_the_volume_does(world: Make, state: str) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.set_cache(state=state)
    assert cluster.reconcile().pruned == []
    cluster.set_cache(state="Ready")
    done = cluster.reconcile()
    assert (done.applied, cluster.state) == ([], "InProgress")


def test_what_is_ready_stays_so(world: Make) -> None:
    cluster = world().become_ready()
    cluster.remove("NIMCache/llama")
    cluster.reconcile()
    assert cluster.state == "Ready"


@pytest.mark.parametrize(("ready", "state"), [(False, "Pending"), (True, "Ready")])
def test_a_run_that_failed(world: Make, ready: bool, state: str) -> None:
    cluster = world()
    if ready:
        cluster.become_ready()
    else:
        cluster.reconcile()
    cluster.failure = "connection refused"
    done = cluster.reconcile()
    assert (cluster.state, done.report.error) == (state, "connection refused")
    assert cluster.condition(FAILED) == ("True", "ReconcileFailed", "connection refused")
    cluster.failure = ""
    cluster.reconcile()
    assert cluster.state == ("Ready" if ready else "InProgress")
    assert cluster.condition(FAILED) == ("False", "Reconciled", "")


def test_what_is_being_deleted_wants_nothing(world: Make) -> None:
    cluster = world()
    cluster.cr["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    done = cluster.reconcile()
    assert (done.applied, done.report.changed, "status" in cluster.cr) == ([], False, False)


def test_what_was_built_must_fit_into_the_config_map(world: Make) -> None:
    cluster = world().become_built().print_manifest()
    live = copy.deepcopy(cluster.get("ConfigMap/llama-manifest"))
    cluster.put(live | {"data": {**live["data"], "other": "x" * 999_900}})
    done = cluster.reconcile()
    assert (cluster.state, done.applied) == ("Pending", [])
    assert "ConfigMap llama-manifest cannot hold the manifest" in cluster.condition(FAILED)[2]
    cluster.put(live)
    assert cluster.reconcile().applied == ["ConfigMap/llama-manifest"]


def many_built(count: int) -> list[Json]:
    return [{"name": f"b{n}", "config": {"input_profile": "aaaa"}} for n in range(count)]


def test_nothing_is_built_for_a_cache_that_is_full(
    world: Make, cache: Make, buildable: Json
) -> None:
    made = world(cache=cache(buildable, *many_built(32)))
    assert made.reconcile().applied == []
    assert made.state == "Pending"
    _status, reason, message = made.condition("Stalled")
    assert reason == "NIMCacheFull"
    assert message.startswith("NIMCache llama lists 32 profiles that were built")


def test_a_cache_that_is_full_meanwhile_is_left_alone(world: Make, buildable: Json) -> None:
    made = world().become_built().print_manifest()
    listed = [buildable, *many_built(32)]
    made.set_cache(profiles=listed)
    made.reconcile()
    assert made.profiles == listed
    assert made.condition("Stalled")[1] == "NIMCacheFull"


@pytest.mark.parametrize(
    ("variables", "spec", "user", "said"),
    [
        pytest.param({}, {"labels": {"app": "x"}}, 0, "", id="by default"),
        pytest.param(
            {"NIMOPS_POD_LABELS": "team"},
            {"labels": {"app": "x"}},
            1,
            'spec.labels: "app" is forbidden: the operator\'s NIMOPS_POD_LABELS allows team',
            id="a label",
        ),
        pytest.param({"NIMOPS_POD_LABELS": "team"}, {"labels": {"team": "x"}}, 1, "", id="fine"),
        pytest.param(
            {"NIMOPS_ROOT_USER": "forbid"},
            {},
            0,
            "spec.userID of NIMCache llama: 0 is forbidden",
            id="a cache of root",
        ),
    ],
)
def test_what_the_operator_forbids(
    world: Make,
    cache: Make,
    buildable: Json,
    monkeypatch: t.Any,
    variables: t.Any,
    spec: Json,
    user: int,
    said: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    made = world(cache=cache(buildable, userID=user), **spec)
    assert made.reconcile().applied == ([] if said else [f"Pod/{BUILD_POD}"])
    if said:
        _status, reason, message = made.condition("Stalled")
        assert reason == "Forbidden"
        assert message.startswith(said)


def test_of_its_own_labels_the_pod_gets_what_it_may_have(
    world: Make, build: Make, monkeypatch: t.Any
) -> None:
    monkeypatch.setenv("NIMOPS_POD_LABELS", "team")
    labelled = build()
    labelled["metadata"]["labels"] = {"team": "x", "argocd.argoproj.io/instance": "y"}
    made = world(build=labelled)
    made.reconcile()
    labels = made.get(f"Pod/{BUILD_POD}")["metadata"]["labels"]
    assert (labels["team"], "argocd.argoproj.io/instance" in labels) == ("x", False)
