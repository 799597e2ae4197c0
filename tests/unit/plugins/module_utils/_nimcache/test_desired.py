# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Which objects are wanted in which pass, and what is read for that."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.desired import desired

Json = dict[str, t.Any]
Make = t.Callable[..., t.Any]

RBAC = ["ServiceAccount/nim-cache-sa", "Role/nim-cache-role", "RoleBinding/nim-cache-rolebinding"]
CLAIM, POD, KEPT, JOB = (
    "PersistentVolumeClaim/llama-pvc", "Pod/llama-pod", "ConfigMap/llama-manifest", "Job/llama-job",
)  # fmt: skip
NOT_FOUND = "model_manifest.yaml not found\n"
PLAIN = "download-to-cache not found\n" + NOT_FOUND
HF = {
    "hf": {
        "endpoint": "https://hf.co", "namespace": "org", "modelName": "m", "authSecret": "s",
        "modelPuller": "x:1", "pullSecret": "p",
    }
}  # fmt: skip
NGC = {"modelPuller": "x:1", "authSecret": "s"}
FOREIGN = {"metadata": {"name": "x", "namespace": "nim", "ownerReferences": [
    {"kind": "NIMCache", "name": "other", "uid": "u-other", "controller": True}]}}  # fmt: skip


def test_usual_way(world: Make) -> None:
    cluster = world()
    first = cluster.reconcile()
    assert first.applied == [*RBAC, CLAIM, POD]
    assert cluster.reconcile().applied == []
    cluster.run_pod()
    second = cluster.reconcile()
    assert (second.applied, second.pruned) == ([KEPT, JOB], [POD])
    cluster.set_job("Complete", succeeded=1)
    assert cluster.reconcile().applied == []
    assert cluster.state == "Ready"
    again = cluster.reconcile()
    assert (again.applied, again.pruned, again.assessment.in_transit) == ([], [], False)


def test_native_images_need_no_probe(world: Make) -> None:
    cluster = world()
    cluster.protocol = "native"
    assert cluster.reconcile().applied == [*RBAC, CLAIM]
    assert cluster.cr["status"]["type"] == "native"
    assert cluster.state == "PVC-Created"
    cluster.protocol = ""
    assert cluster.reconcile().applied == [JOB]
    assert "NIM_ENGINE_MODEL_PATH" in str(cluster.objects[JOB])


def test_native_stays_when_the_registry_is_silent(world: Make) -> None:
    cluster = world()
    cluster.protocol = "native"
    cluster.become_ready()
    cluster.protocol = ""
    done = cluster.reconcile()
    assert (done.applied, cluster.state, cluster.cr["status"]["type"]) == ([], "Ready", "native")


def test_registry_is_asked_again_if_the_probe_finds_nothing(world: Make) -> None:
    cluster = world()
    cluster.protocol = ""
    assert "protocol" in cluster.reconcile().keys
    assert "protocol" not in cluster.reconcile().keys
    cluster.protocol = "native"
    cluster.run_pod(NOT_FOUND)
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([JOB], [POD])
    assert cluster.cr["status"]["type"] == "native"


def test_a_registry_that_was_not_waited_for_decides_nothing(world: Make) -> None:
    cluster = world()
    cluster.protocol = "later"
    done = cluster.reconcile()
    assert POD not in done.applied
    assert (done.assessment.in_transit, done.assessment.seldom) == (True, True)
    assert "the registry, which does not answer at once" in str(done.assessment.status)
    cluster.protocol = ""
    done = cluster.reconcile()
    assert (POD in done.applied, done.assessment.seldom) == (True, False)
    cluster.protocol = "later"
    cluster.run_pod(NOT_FOUND)
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([], []), "the pod stays, as it has the log"
    cluster.protocol = "native"
    assert cluster.reconcile().applied == [JOB]


@pytest.mark.parametrize(
    ("log", "cache_type", "command"),
    [
        pytest.param(NOT_FOUND, "model-free", "download-to-cache", id="model-free"),
        pytest.param(PLAIN, None, "huggingface-cli", id="plain"),
        pytest.param(None, None, "huggingface-cli", id="manifest"),
    ],
)
def test_hugging_face(world: Make, log: str | None, cache_type: str | None, command: str) -> None:
    cluster = world(source=HF)
    assert "protocol" not in cluster.reconcile().keys
    cluster.run_pod(log)
    done = cluster.reconcile()
    assert done.applied == ([JOB] if log else [KEPT, JOB])
    assert done.pruned == [POD]
    assert cluster.cr["status"].get("type") == cache_type
    container = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][0] == command
    assert cluster.reconcile().applied == []
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert "profiles" not in cluster.cr["status"]
    assert cluster.reconcile().applied == []


@pytest.mark.parametrize("log", ["", "--- nimops: manifest begins ---\na: {model: m}\n"])
def test_an_incomplete_log_is_waited_for(world: Make, log: str) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.run_pod(log)
    done = cluster.reconcile()
    assert (done.applied, done.pruned, done.assessment.in_transit) == ([], [], True)


def test_a_probe_pod_that_ended_is_made_anew(world: Make) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.run_pod(phase="Failed")
    assert cluster.reconcile().pruned == [POD]
    assert cluster.reconcile().applied == [POD]


def test_foreign_manifest_map_is_a_problem(world: Make) -> None:
    cluster = world()
    cluster.objects[KEPT] = FOREIGN
    cluster.reconcile()
    assert "ConfigMap llama-manifest exists" in cluster.condition("NIM_CACHE_RECONCILE_FAILED")[2]
    assert POD not in cluster.objects


def test_foreign_job_is_never_taken_for_ours(world: Make) -> None:
    cluster = world()
    cluster.objects[JOB] = FOREIGN | {"status": {"succeeded": 1}}
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert cluster.state == "NotReady"
    assert "Job llama-job exists" in cluster.condition("NIM_CACHE_RECONCILE_FAILED")[2]
    assert done.assessment.in_transit
    del cluster.objects[JOB]
    assert JOB in cluster.reconcile().applied
    assert cluster.state == "Started"


@pytest.mark.parametrize("key", [KEPT, POD, JOB, CLAIM])
def test_objects_of_a_deleted_namesake_are_waited_for(world: Make, key: str) -> None:
    cluster = world().become_ready()
    old = cluster.objects.get(key) or {
        "kind": "Pod",
        "metadata": {"name": "llama-pod", "namespace": "nim"},
    }
    old["metadata"]["ownerReferences"] = [
        {"kind": "NIMCache", "name": "llama", "uid": "u-before", "controller": True}
    ]
    fresh = world()
    fresh.objects = {key: old}
    for _ in range(3):
        fresh.reconcile()
        if key != POD and POD in fresh.objects:
            fresh.run_pod()
    assert fresh.state != "Ready"
    assert fresh.condition("Reconciling") is not None
    del fresh.objects[key]
    fresh.reconcile()
    fresh.become_ready()


def test_lost_manifest_of_a_ready_cache_is_found_again(world: Make) -> None:
    cluster = world().become_ready()
    del cluster.objects[KEPT]
    assert cluster.reconcile().applied == [POD]
    assert cluster.state == "Ready"
    cluster.run_pod()
    done = cluster.reconcile()
    assert (done.applied, done.pruned, cluster.state) == ([KEPT], [POD], "Ready")
    assert not done.assessment.in_transit


def test_model_endpoint_needs_no_manifest_once_cached(world: Make) -> None:
    cluster = world(source={"ngc": NGC | {"modelEndpoint": "ngc://m"}}).become_ready()
    del cluster.objects[KEPT]
    assert cluster.reconcile().applied == []


def test_claim_that_is_not_ours_to_make(world: Make) -> None:
    cluster = world(pvc={"name": "models"})
    assert cluster.reconcile().applied == RBAC
    cluster.objects["PersistentVolumeClaim/models"] = {"metadata": {"name": "models"}}
    assert cluster.reconcile().applied == [POD]
    cluster.run_pod()
    assert cluster.reconcile().applied == [KEPT, JOB]


def test_claim_of_a_bad_size(world: Make) -> None:
    cluster = world(pvc={"create": True, "size": "big", "volumeAccessMode": "ReadWriteOnce"})
    assert cluster.reconcile().applied == RBAC
    assert cluster.state == "NotReady"


def test_nothing_is_probed_for_a_claim_that_is_refused(world: Make) -> None:
    cluster = world()
    cluster.refused = {CLAIM: "spec.accessModes: Unsupported value"}
    cluster.reconcile()
    cluster.reconcile()
    assert sorted(cluster.objects) == sorted(RBAC)
    assert cluster.state == "NotReady"
    cluster.refused = {}
    assert cluster.reconcile().applied == [CLAIM]
    assert cluster.reconcile().applied == [POD]


def test_no_job_before_its_claim(world: Make) -> None:
    """A Job whose claim the API server refuses would have to go again."""
    cluster = world()
    cluster.protocol = "native"
    cluster.refused[CLAIM] = "accessModes: invalid"
    for _ in range(3):
        cluster.reconcile()
    assert JOB not in cluster.objects


@pytest.mark.parametrize("job_remains", [True, False], ids=["job-there", "job-expired"])
def test_lost_claim_of_a_ready_cache(world: Make, job_remains: bool) -> None:
    cluster = world().become_ready()
    del cluster.objects[CLAIM]
    if not job_remains:
        del cluster.objects[JOB]
    first = cluster.reconcile()
    assert (first.applied, first.pruned) == ([], [JOB] if job_remains else [])
    assert cluster.state == "NotReady"
    second = cluster.reconcile()
    assert second.applied == [CLAIM]
    assert cluster.state == "PVC-Created"
    assert cluster.reconcile().applied == [JOB]
    assert cluster.state == "Started"
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert len(cluster.cr["status"]["profiles"]) == 1


def test_lost_claim_survives_a_crash_before_the_status_is_written(world: Make) -> None:
    cluster = world().become_ready()
    del cluster.objects[CLAIM]
    old = cluster.cr
    cluster.reconcile()
    cluster.cr = old | {"status": old["status"] | {"state": "Ready"}}
    assert cluster.reconcile().applied == []
    assert cluster.state == "NotReady"


def test_the_old_job_is_waited_for_before_a_new_claim_is_made(world: Make) -> None:
    cluster = world().become_ready()
    del cluster.objects[CLAIM]
    going = cluster.objects[JOB]
    cluster.reconcile()
    going["metadata"]["deletionTimestamp"] = "now"
    cluster.objects[JOB] = going
    assert cluster.reconcile().applied == []
    del cluster.objects[JOB]
    assert cluster.reconcile().applied == [CLAIM]


def test_own_claim_lost_and_back(world: Make) -> None:
    """The Job of a claim that vanished says nothing of the claim that came in its place."""
    cluster = world(pvc={"name": "models"})
    claim = {"metadata": {"name": "models"}}
    cluster.objects["PersistentVolumeClaim/models"] = claim
    cluster.become_ready()
    del cluster.objects["PersistentVolumeClaim/models"]
    assert cluster.reconcile().pruned == [JOB]
    assert cluster.state == "NotReady"
    cluster.objects["PersistentVolumeClaim/models"] = claim
    assert cluster.reconcile().applied == [JOB]
    assert cluster.state == "Started"


def test_a_claim_on_its_way_out_gets_no_job(world: Make) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.run_pod()
    cluster.objects[CLAIM]["metadata"]["deletionTimestamp"] = "now"
    done = cluster.reconcile()
    assert (done.applied, done.assessment.in_transit) == ([], True)


def test_finished_job_that_expired(world: Make) -> None:
    cluster = world().become_ready()
    del cluster.objects[JOB]
    assert cluster.reconcile().applied == []
    assert cluster.state == "Ready"


def test_failed_job_is_tried_again_when_it_expired(world: Make) -> None:
    cluster = world()
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    cluster.set_job("Failed", failed=6)
    cluster.reconcile()
    assert cluster.state == "Failed"
    assert cluster.reconcile().applied == []
    del cluster.objects[JOB]
    assert cluster.reconcile().applied == [JOB]
    assert cluster.state == "Started"


def test_explicit_profiles_are_not_selected(world: Make) -> None:
    cluster = world(source={"ngc": NGC | {"model": {"profiles": ["bbbb", "zzzz"]}}})
    cluster.become_ready()
    args = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["--profiles", "bbbb", "zzzz"]
    assert [item["name"] for item in cluster.cr["status"]["profiles"]] == ["bbbb"]


def test_annotated_profiles_take_the_place_of_the_selection(world: Make) -> None:
    cluster = world()
    cluster.cr["metadata"]["annotations"] = {"nvidia.com/selected-profiles": '["cccc"]'}
    cluster.become_ready()
    args = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["--profiles", "cccc"]


@pytest.mark.parametrize("text", ["cccc", "[]", '{"a": 1}', "[1]"])
def test_bad_annotation(world: Make, text: str) -> None:
    cluster = world()
    cluster.cr["metadata"]["annotations"] = {"nvidia.com/selected-profiles": text}
    cluster.reconcile()
    cluster.run_pod()
    assert cluster.reconcile().applied == [KEPT]
    assert "must be a JSON list" in cluster.condition("NIM_CACHE_RECONCILE_FAILED")[2]


def test_cert_config_stops_at_the_job(world: Make) -> None:
    cluster = world(certConfig={"name": "c", "mountPath": "/c"})
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([KEPT], [POD])
    assert cluster.state == "NotReady"


def test_nothing_while_being_deleted(cache: Make) -> None:
    cr = cache()
    cr["metadata"]["deletionTimestamp"] = "now"
    wanted = desired(cr, Observed({}))
    assert (wanted.children, wanted.unwanted) == ([], [])


def test_offline_everything_of_the_first_pass_is_rendered(cache: Make) -> None:
    kinds = [child.manifest["kind"] for child in desired(cache(), Observed({})).children]
    assert kinds == ["ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "Pod"]


def test_a_settled_cache_reads_its_children_only(world: Make) -> None:
    cluster = world().become_ready()
    assert cluster.reconcile().keys == [CLAIM, KEPT, JOB, POD, *RBAC]


def test_reads_of_the_way(world: Make) -> None:
    cluster = world()
    children, users = [CLAIM, KEPT, JOB, POD, *RBAC], ["NIMBuild", "NIMService"]
    assert cluster.reconcile().keys == [*children, *users, "Node", "protocol"]
    assert cluster.reconcile().keys == [*children, *users, "Node"]
    cluster.run_pod()
    assert cluster.reconcile().keys == [*children, *users, "Node", "log"]
    assert cluster.reconcile().keys == [*children, *users, "Node"]


def test_registry_is_left_alone_while_the_claim_is_missing(world: Make) -> None:
    cluster = world(pvc={"name": "models"})
    assert "protocol" not in cluster.reconcile().keys
