# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status: states, conditions, events, triggers."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
    MAX_LISTED,
)

FAILED = "NIM_CACHE_RECONCILE_FAILED"
COMPLETED = "NIM_CACHE_JOB_COMPLETED"
PENDING = "NIM_CACHE_JOB_PENDING"
JOB, CLAIM = "Job/nim/llama-job", "PersistentVolumeClaim/nim/llama-pvc"
NGC = {"modelPuller": "x:1", "authSecret": "s"}


@pytest.fixture
def started(world):
    """A cache whose Job was just created."""
    cluster = world()
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    assert cluster.state == "Started"
    return cluster


def types(cluster):
    found = [item["type"] for item in cluster.cr["status"]["conditions"]]
    assert found.count("Ready") == 1
    return [kind for kind in found if kind != "Ready"]


def test_assess_ignored_fields(world):
    """The CRDs of the reference accept these; only its optional webhook rejects them."""
    profiles = {"profiles": ["all", "aaaa"]}
    cluster = world(source={"ngc": {"modelPuller": "x:1", "authSecret": "s", "model": profiles}})
    cluster.cr["spec"]["storage"]["hostPath"] = "/models"
    cluster.reconcile()
    cluster.run_pod()
    messages = [event.message for event in cluster.reconcile().assessment.events]
    assert (
        "spec.source.ngc.model.profiles contains all, so its other items have no effect" in messages
    )
    assert "spec.storage.hostPath has no effect beside spec.storage.pvc" in messages
    container = cluster.objects["Job/nim/llama-job"]["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["--all"]


def test_assess_start_to_ready(world):
    cluster = world()
    created, job_created = "NIM_CACHE_PVC_CREATED", "NIM_CACHE_JOB_CREATED"
    job = "The Job to cache NIM"
    for step, state, kind, *condition in (
        (
            lambda: None,
            "PVC-Created",
            created,
            "True",
            "PVCCreated",
            "The PVC has been created for caching NIM model",
        ),
        (cluster.run_pod, "Started", job_created, "True", "JobCreated", f"{job} has been created"),
        (cluster.set_job, "Pending", PENDING, "True", "JobPending", f"{job} is in pending state"),
        (
            lambda: cluster.set_job(active=1),
            "InProgress",
            PENDING,
            "False",
            "JobRunning",
            f"{job} is in progress",
        ),
        (
            lambda: cluster.set_job("Complete", succeeded=1),
            "Ready",
            COMPLETED,
            "True",
            "JobCompleted",
            f"{job} has successfully completed",
        ),
    ):
        step()
        done = cluster.reconcile()
        assert cluster.state == state
        assert cluster.condition(kind) == tuple(condition)
        assert cluster.condition("Ready")[0] == str(state == "Ready")
        assert ("Normal", state) in done.events
        assert (done.assessment.requeue.after, done.assessment.error) == (state != "Ready", "")
    assert types(cluster) == [created, job_created, PENDING, COMPLETED]
    assert cluster.condition(PENDING)[0] == "False"
    assert cluster.cr["status"]["pvc"] == "llama-pvc"
    tags = {"gpu": "H100", "llm_engine": "tensorrt_llm", "tp": "1", "precision": "fp8"}
    assert cluster.cr["status"]["profiles"] == [
        {"name": "aaaa", "model": "meta/llama", "release": "1.12.0", "config": tags | {"profile": "throughput"}}
    ]  # fmt: skip
    assert set(cluster.cr["status"]) == {
        "state", "conditions", "observedGeneration", "pvc", "profiles", "served",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("conditions", "counts", "state"),
    [
        pytest.param([], {}, "Pending", id="nothing"),
        pytest.param([], {"active": 1}, "InProgress", id="active"),
        pytest.param([], {"active": 1, "failed": 2}, "InProgress", id="failed-once"),
        pytest.param([], {"failed": 1}, "InProgress", id="between-attempts"),
        pytest.param(["FailureTarget"], {"failed": 6}, "InProgress", id="about-to-fail"),
        pytest.param(["Failed"], {"failed": 6}, "Failed", id="failed"),
        pytest.param([], {"succeeded": 1}, "Ready", id="succeeded"),
        pytest.param(["Complete"], {}, "Ready", id="complete"),
        pytest.param(["Complete"], {"failed": 3, "succeeded": 1}, "Ready", id="at-last"),
    ],
)
def test_assess_job_state(started, conditions, counts, state):
    started.set_job(*conditions, **counts)
    started.reconcile()
    assert started.state == state


def test_assess_counts_failed_attempts(started):
    started.set_job(failed=2)
    started.reconcile()
    assert started.condition(PENDING)[2] == (
        "The Job to cache NIM is in progress (2 of 6 attempts failed)"
    )
    started.set_job(failed=3)
    done = started.reconcile()
    assert "(3 of 6" in started.condition(PENDING)[2]
    assert done.events == []


def test_assess_failed_job(started):
    started.set_job("Failed", failed=6)
    done = started.reconcile()
    assert started.condition(COMPLETED) == ("False", "JobFailed", "The Job to cache NIM has failed")
    assert started.condition("Stalled")[1] == "JobFailed"
    assert started.condition("Reconciling") is None
    assert done.events == [("Normal", "Failed")]
    assert (done.assessment.requeue.after, done.assessment.error) == (False, "")
    assert started.reconcile().events == []


def test_assess_ready_with_failed_job(world):
    cluster = world().become_ready()
    cluster.set_job("Failed", failed=6)
    cluster.reconcile()
    assert cluster.state == "Ready"


def test_assess_unchanged(world):
    cluster = world().become_ready()
    before = cluster.cr["status"]
    done = cluster.reconcile()
    assert cluster.cr["status"] == before
    assert (done.events, done.assessment.triggers) == ([], [])


def test_assess_running_job_without_status(started):
    started.cr["status"] = {}
    started.set_job(active=1)
    started.reconcile()
    assert started.state == "InProgress"
    assert "NIM_CACHE_JOB_CREATED" in types(started)


def test_assess_reports_selection(world):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod()
    event = cluster.reconcile().assessment.events[0]
    assert (event.kind, event.reason) == ("Normal", "ProfilesSelected")
    assert event.message.startswith("1 of 3 profiles selected for caching: aaaa")
    assert "bbbb: tensorParallelism wanted 1, profile has 2" in event.message


def test_assess_nothing_selected(world):
    cluster = world(source={"ngc": NGC | {"model": {"precision": "int4"}}})
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == (["ConfigMap/nim/llama-manifest"], ["Pod/nim/llama-pod"])
    status, reason, message = cluster.condition(FAILED)
    assert (status, reason) == ("True", "ReconcileFailed")
    assert message.startswith("no profiles are selected for caching: none of 3 fits; ")
    assert "aaaa: precision wanted int4, profile has fp8" in message
    assert cluster.condition("Stalled")[1] == "NoProfilesSelected"
    assert cluster.state == "NotReady"
    assert cluster.cr["status"]["selection"]["considered"] == 3
    assert cluster.cr["status"]["selection"]["dropped"][0] == {
        "profile": "aaaa",
        "reason": "precision",
        "message": "precision wanted int4, profile has fp8",
    }
    assert done.events == [("Warning", "ReconcileFailed")]
    assert done.assessment.events[0].message.startswith(
        "NIMCache llama reconcile failed, msg: no profiles are selected for caching"
    )
    assert (done.assessment.requeue.after, done.assessment.error) == (True, "")
    again = cluster.reconcile()
    assert (again.applied, again.pruned, again.events) == ([], [], [])


def test_assess_selection_after_new_gpu(world):
    cluster = world(source={"ngc": NGC | {"model": {"engine": "tensorrt", "precision": "bf16"}}})
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    assert cluster.cr["status"]["selection"]["selected"] == []
    label = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
    cluster.nodes.append({"metadata": {"name": "new", "labels": label}})
    assert cluster.reconcile().applied == [JOB]
    assert cluster.state == "Started"
    assert "selection" not in cluster.cr["status"]
    assert cluster.condition(FAILED) == ("False", "Reconciled", "")
    assert cluster.condition("Stalled") is None


@pytest.mark.parametrize(
    ("storage", "message", "reason", "is_requeued"),
    [
        pytest.param({"pvc": {"name": "models"}}, 'PersistentVolumeClaim "models" not found', "PVCNotFound", True, id="missing claim"),
        pytest.param({}, 'PersistentVolumeClaim "llama-pvc" not found', "PVCNotFound", True, id="none"),
        pytest.param(
            {"pvc": {"create": True, "size": "big"}},
            "failed to parse size for pvc creation llama-pvc, err ", "Failed", False, id="invalid size",
        ),
        pytest.param({"hostPath": "/models"}, "spec.storage.hostPath is not supported", "HostPathNotSupported", False, id="host path"),
    ],
)  # fmt: skip
def test_assess_unusable_storage(world, storage, message, reason, is_requeued):
    cluster = world()
    cluster.cr["spec"]["storage"] = storage
    done = cluster.reconcile()
    assert [key.split("/")[0] for key in done.applied] == ["ServiceAccount", "Role", "RoleBinding"]
    assert cluster.state == "NotReady"
    assert cluster.condition(FAILED)[2].startswith(message)
    assert cluster.condition("Stalled")[1] == reason
    assert (done.assessment.requeue.after, done.assessment.error) == (is_requeued, "")


def test_assess_unreadable_manifest(world):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod("a: {b")
    done = cluster.reconcile()
    assert "the model manifest cannot be read" in cluster.condition(FAILED)[2]
    assert (done.pruned, done.assessment.requeue.after, cluster.state) == ([], True, "NotReady")
    cluster.run_pod()
    cluster.reconcile()
    assert cluster.state == "Started"


@pytest.mark.parametrize(
    ("profiles", "state"), [(None, "NotReady"), (["aaaa"], "NotReady"), (["all"], "Ready")]
)
def test_assess_image_without_manifest(world, profiles, state):
    model = {"profiles": profiles} if profiles else {}
    cluster = world(source={"ngc": NGC | {"model": model}})
    cluster.reconcile()
    cluster.run_pod("model_manifest.yaml not found\n")
    cluster.reconcile()
    assert cluster.cr["status"]["type"] == "model-free"
    assert (JOB in cluster.objects) is bool(profiles)
    if profiles:
        cluster.set_job("Complete", succeeded=1)
        cluster.reconcile()
    assert cluster.state == state
    if state == "NotReady":
        assert cluster.condition(FAILED)[2].startswith(
            "failed to get model manifest config file: unable to get ConfigMap llama-manifest: "
        )


def test_assess_pod_not_running(world):
    cluster = world()
    cluster.reconcile()
    waiting = {
        "reason": "ImagePullBackOff",
        "message": 'Back-off pulling image "x": ErrImagePull: no',
    }
    cluster.objects["Pod/nim/llama-pod"]["status"] = {
        "phase": "Pending",
        "containerStatuses": [{"name": "c", "state": {"waiting": waiting}}],
    }
    cluster.reconcile()
    assert cluster.condition("Reconciling")[1:] == (
        "WaitingForManifest",
        "waiting for Pod llama-pod to run, container c: ErrImagePull: no",
    )
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    cluster.objects["Pod/nim/llama-pod"]["status"] = {
        "phase": "Pending",
        "conditions": [unschedulable],
    }
    cluster.reconcile()
    assert cluster.condition("Reconciling")[2].endswith("to run: Unschedulable")


def test_assess_refusal(world):
    cluster = world()
    cluster.refused[CLAIM] = "accessModes: Unsupported value"
    done = cluster.reconcile()
    assert cluster.state == "NotReady"
    assert cluster.condition(FAILED) == (
        "True",
        "ReconcileFailed",
        "accessModes: Unsupported value",
    )
    assert done.assessment.error == "accessModes: Unsupported value"
    assert done.events == [("Warning", "ReconcileFailed")]
    assert cluster.reconcile().events == []
    cluster.refused.clear()
    cluster.reconcile()
    assert cluster.condition(FAILED) == ("False", "Reconciled", "")


def test_assess_failed_run(started):
    started.failure = "connection refused"
    done = started.reconcile()
    assert started.state == "NotReady"
    assert started.condition(FAILED)[2] == "connection refused"
    assert done.assessment.error == "connection refused"
    started.failure = ""
    started.set_job(active=1)
    started.reconcile()
    assert started.state == "InProgress"


def test_assess_failed_run_keeps_ready_state(world):
    cluster = world().become_ready()
    cluster.failure = "connection refused"
    done = cluster.reconcile()
    assert (cluster.state, done.assessment.error) == ("Ready", "connection refused")
    assert cluster.condition(FAILED)[0] == "True"
    cluster.failure = ""
    cluster.reconcile()
    assert cluster.condition(FAILED) == ("False", "Reconciled", "")
    assert JOB in cluster.objects


def service(name, cache, **annotations):
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"storage": {"nimCache": {"name": cache}}},
    }


def build(name, cache):
    return {"metadata": {"name": name}, "spec": {"nimCache": {"name": cache}}}


def test_assess_triggers_users(world):
    cluster = world()
    told = service("told", "llama", **{"nimops.nim/cache-state": "llama=PVC-Created"})
    cluster.users["NIMService/nim/*"] = [service("a", "llama"), service("b", "other"), told, {
        "metadata": {"name": "c"}, "spec": {"storage": {"pvc": {}}},
    }]  # fmt: skip
    cluster.users["NIMBuild/nim/*"] = [build("engine", "llama"), build("another", "other")]
    stamps = cluster.reconcile().assessment.triggers
    assert [(s.kind, s.name, s.key, s.value) for s in stamps] == [
        ("NIMBuild", "engine", "nimops.nim/cache-state", "llama=PVC-Created"),
        ("NIMService", "a", "nimops.nim/cache-state", "llama=PVC-Created"),
    ]
    assert cluster.reconcile().assessment.triggers == []
    cluster.become_ready()
    del cluster.objects[CLAIM]
    stamps = cluster.reconcile().assessment.triggers
    assert [(s.name, s.value) for s in stamps] == [
        ("engine", "llama=NotReady"), ("a", "llama=NotReady"), ("told", "llama=NotReady"),
    ]  # fmt: skip


BUILT = {"name": "built", "config": {"model_name": "mine", "input_profile": "aaaa"}}


def test_assess_keeps_built_profile(world):
    cluster = world().become_ready()
    cluster.cr["status"]["profiles"].append(BUILT)
    cluster.reconcile()
    assert cluster.cr["status"]["profiles"][-1] == BUILT


@pytest.mark.parametrize("state", ["NotReady", "Failed", "InProgress"])
def test_assess_new_download_keeps_built_profile(world, state):
    """The reference leaves these states, lists all profiles, and its Jobs expire."""
    cluster = world().become_ready()
    profiles = list(cluster.cr["status"]["profiles"])
    cluster.cr["status"] |= {"state": state, "profiles": [*profiles, BUILT]}
    del cluster.objects[JOB]
    cluster.reconcile()
    assert (cluster.state, cluster.cr["status"]["profiles"]) == ("Started", [BUILT])
    for status in ({"active": 1}, {"failed": 1}):
        cluster.set_job(**status)
        cluster.reconcile()
        assert (cluster.state, cluster.cr["status"]["profiles"]) == ("InProgress", [BUILT])
    cluster.set_job("Failed", failed=6)
    cluster.reconcile()
    assert (cluster.state, cluster.cr["status"]["profiles"]) == ("Failed", [BUILT])
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert (cluster.state, cluster.cr["status"]["profiles"]) == ("Ready", [*profiles, BUILT])


def test_assess_lost_claim_drops_built_profile(world):
    cluster = world().become_ready()
    cluster.cr["status"]["profiles"].append(BUILT)
    del cluster.objects[CLAIM]
    cluster.reconcile()
    assert "profiles" not in cluster.cr["status"]


def test_assess_built_profile_listed_once(world):
    cluster = world()
    cluster.reconcile()
    cluster.cr["status"]["profiles"] = [BUILT | {"name": "aaaa"}, BUILT]
    cluster.become_ready()
    assert [item["name"] for item in cluster.cr["status"]["profiles"]] == ["aaaa", "built"]
    assert "input_profile" not in cluster.cr["status"]["profiles"][0]["config"]


def large_manifest(count):
    tags = {"llm_engine": "tensorrt_llm", "tp": "1", "gpu": "H100", "note": "x" * 800}
    profiles = {f"{n:064d}": {"tags": tags} for n in range(count)}
    return f"{BEGIN_MARK}\n{json.dumps(profiles)}\n{END_MARK}\n"


def test_assess_manifest_too_large(world):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod(large_manifest(1100))
    done = cluster.reconcile()
    assert "the part that a ConfigMap stores has 1" in cluster.condition(FAILED)[2]
    assert (done.applied, done.pruned, done.assessment.error) == ([], [], "")
    cluster.run_pod()
    cluster.reconcile()
    assert cluster.condition(FAILED)[0] == "False"


def test_assess_bounds_profiles(world):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod(large_manifest(900))
    cluster.reconcile()
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert cluster.state == "Ready"
    listed = cluster.cr["status"]["profiles"]
    assert len(json.dumps(listed)) < MAX_LISTED + 2000
    assert cluster.condition("NIM_CACHE_JOB_COMPLETED")[2].endswith(
        f"status.profiles only has room for the first {len(listed)} of 900 profiles"
    )


def test_choice_events_named_profiles(world):
    """Profiles in the spec override its other options; unknown ones cause a warning."""
    model = {"profiles": ["aaaa", "zzzz"], "engine": "vllm", "gpus": [], "lora": False}
    cluster = world(source={"ngc": NGC | {"model": model}})
    cluster.reconcile()
    cluster.run_pod()
    events = [item for item in cluster.reconcile().assessment.events if item.kind == "Warning"]
    assert [(item.reason, item.message) for item in events] == [
        (
            "Ignored",
            "spec.source.ngc.model.profiles lists the profiles, so these fields have no effect:"
            " spec.source.ngc.model.engine, spec.source.ngc.model.lora",
        ),
        (
            "UnknownProfiles",
            "spec.source.ngc.model.profiles: the manifest of image x:1 lacks zzzz, so the download"
            " may fail. nimops.nim.profiles lists the profiles of the image",
        ),
    ]


@pytest.mark.parametrize("profiles", [["all"], ["aaaa", "bbbb"]])
def test_choice_events_known_profiles(world, profiles):
    cluster = world(source={"ngc": NGC | {"model": {"profiles": profiles}}})
    cluster.reconcile()
    cluster.run_pod()
    assert [item for item in cluster.reconcile().assessment.events if item.kind == "Warning"] == []


def test_choice_events_invalid_manifest(world):
    """The report survives a ConfigMap that a user edited; the download does not need it."""
    cluster = world(source={"ngc": NGC | {"model": {"profiles": ["aaaa"]}}})
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    cluster.objects.pop("Job/nim/llama-job")
    cluster.objects["ConfigMap/nim/llama-manifest"]["data"] = {"model_manifest.yaml": "- no: map"}
    assert [item.reason for item in cluster.reconcile().assessment.events] == []
