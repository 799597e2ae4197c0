# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""States, conditions and events."""

from __future__ import annotations

import pytest

BUILD_POD = "engine-engine-build-pod"
COMPLETED = "NIM_BUILD_ENGINE_BUILD_POD_COMPLETED"
MADE = "NIM_BUILD_ENGINE_BUILD_POD_CREATED"
FAILED = "NIM_BUILD_RECONCILE_FAILED"


def types(world):
    found = [item["type"] for item in world.status["conditions"]]
    assert found.count("Ready") == 1
    return [kind for kind in found if kind != "Ready"]


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
def test_assess_cache_not_ready(world, cache, buildable, status, state, condition, stalled):
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
    assert cluster.reconcile().applied == [f"Pod/nim/{BUILD_POD}"]
    assert kind not in types(cluster)
    assert cluster.state == "InProgress"


def test_assess_cache_appears_and_fails(world, cache):
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
def test_assess_choice_of_profile(world, cache, buildable, names, asked, kind, reason, message):
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


def test_assess_pod_not_running(world):
    cluster = world()
    cluster.reconcile()
    waiting = {"reason": "CreateContainerConfigError", "message": "no Secret"}
    cluster.set_pod(
        BUILD_POD, "Pending", containerStatuses=[{"name": "c", "state": {"waiting": waiting}}]
    )
    cluster.reconcile()
    assert cluster.condition("Reconciling")[1:] == (
        "BuildingEngine",
        f"waiting for Pod {BUILD_POD} to build the engine, container c: CreateContainerConfigError:"
        " no Secret",
    )


FAILED_BUILD = {
    "out-of-memory": (
        "Failed",
        {"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]},
        "OOMKilled, exit code 137",
    ),
    "evicted": ("Failed", {"reason": "Evicted", "message": "disk"}, "Evicted: disk"),
    "silent": ("Failed", {}, "no reason given"),
    "ended-early": (
        "Succeeded", {"containerStatuses": [{"state": {"terminated": {"exitCode": 0}}}]},
        "Ended, exit code 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("phase", "status", "why"), FAILED_BUILD.values(), ids=FAILED_BUILD)
def test_assess_failed_build(world, phase, status, why):
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

    cluster.remove(f"Pod/nim/{BUILD_POD}")
    again = cluster.reconcile()
    assert (again.applied, cluster.state) == ([f"Pod/nim/{BUILD_POD}"], "InProgress")
    assert again.events == [("Normal", "InProgress")]
    assert COMPLETED not in types(cluster)


def test_assess_restores_lost_status(world, buildable):
    """The pod was created, but the status was not written."""
    cluster = world()
    cluster.reconcile()
    cluster.put({key: value for key, value in cluster.cr.items() if key != "status"})
    cluster.reconcile()
    assert (cluster.state, cluster.status["inputProfile"]) == ("InProgress", buildable)
    assert cluster.condition(MADE)[0] == "True"


def test_assess_refused_pod(world):
    cluster = world()
    cluster.refused[f"Pod/nim/{BUILD_POD}"] = "exceeded quota"
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


def test_assess_keeps_ready_state(world):
    cluster = world().become_ready()
    cluster.remove("NIMCache/nim/llama")
    cluster.reconcile()
    assert cluster.state == "Ready"


@pytest.mark.parametrize(("ready", "state"), [(False, "Pending"), (True, "Ready")])
def test_assess_failed_run(world, ready, state):
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
