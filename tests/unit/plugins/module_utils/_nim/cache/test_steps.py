# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Creation and replacement of the claim and the Job."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.steps import (
    has_pvc,
    has_succeeded,
    job_condition,
)

RBAC = [
    "ServiceAccount/nim/nim-cache-sa",
    "Role/nim/nim-cache-role",
    "RoleBinding/nim/nim-cache-rolebinding",
]
CLAIM, POD, KEPT, JOB = (
    "PersistentVolumeClaim/nim/llama-pvc", "Pod/nim/llama-pod", "ConfigMap/nim/llama-manifest", "Job/nim/llama-job",
)  # fmt: skip
OURS = {
    "metadata": {
        "name": "llama-pvc",
        "labels": {"app.kubernetes.io/managed-by": "k8s-nim-operator"},
    }
}
TERMINATING = {"metadata": {"name": "llama-pvc", "deletionTimestamp": "now"}}
NGC = {"modelPuller": "x:1", "authSecret": "s"}
NGC_OF_CACHE = {
    "modelPuller": "nvcr.io/nim/meta/llama:1.12.0",
    "pullSecret": "ngc-secret",
    "authSecret": "ngc-api-secret",
    "model": {"engine": "tensorrt", "tensorParallelism": "1"},
}
HF = {
    "endpoint": "https://huggingface.co",
    "namespace": "hf",
    "modelName": "model",
    "modelPuller": "x:1",
    "authSecret": "s",
    "pullSecret": "p",
}
FOREIGN = {"metadata": {"name": "x", "namespace": "nim", "ownerReferences": [
    {"kind": "NIMCache", "name": "other", "uid": "u-other", "controller": True}]}}  # fmt: skip


def test_next_steps_foreign_job(world):
    cluster = world()
    cluster.objects[JOB] = FOREIGN | {"status": {"succeeded": 1}}
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert cluster.state == "NotReady"
    assert "Job llama-job exists" in cluster.condition("NIM_CACHE_RECONCILE_FAILED")[2]
    assert done.assessment.requeue.after
    del cluster.objects[JOB]
    assert JOB in cluster.reconcile().applied
    assert cluster.state == "Started"


@pytest.mark.parametrize("key", [KEPT, POD, JOB, CLAIM])
def test_next_steps_waits_for_namesake(world, key):
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


USER = {
    "metadata": {
        "name": "llm-7d9-x",
        "labels": {
            "app.kubernetes.io/part-of": "nim-service",
            "app.kubernetes.io/instance": "llm",
        },
    }
}
HELD = (
    "waiting for PersistentVolumeClaim llama-pvc to be deleted, which is in use by Pod"
    " llm-7d9-x of NIMService llm: set replicas: 0 in NIMService llm, or delete the pods"
)


def test_next_steps_claim_in_use(world):
    """S1: a recreated cache waits for the claim that a service of the former one uses."""
    old = world().become_ready().objects[CLAIM]
    old["metadata"] |= {"deletionTimestamp": "now", "ownerReferences": []}
    fresh = world()
    fresh.objects, fresh.pods = {CLAIM: old}, [USER]
    first = fresh.reconcile()
    assert fresh.state == "NotReady"
    assert fresh.condition("Reconciling") == ("True", "WaitingForPVC", HELD)
    assert ("Warning", "WaitingForPVC") in first.events
    assert first.assessment.requeue.after
    assert fresh.reconcile().events == []
    del fresh.objects[CLAIM]
    fresh.reconcile()
    fresh.become_ready()


def test_next_steps_ready_claim_in_use(world):
    """The cache serves as long as the pods run, and reports what happens when they end."""
    cluster = world().become_ready()
    cluster.objects[CLAIM]["metadata"]["deletionTimestamp"] = "now"
    cluster.pods = [USER]
    assert cluster.reconcile().events == [("Warning", "WaitingForPVC")]
    assert (cluster.state, cluster.condition("Ready")[0]) == ("Ready", "True")
    assert cluster.condition("Reconciling") == ("True", "WaitingForPVC", HELD)
    assert cluster.reconcile().events == []
    del cluster.objects[CLAIM]
    assert ("Warning", "PVCLost") in cluster.reconcile().events


def test_next_steps_user_claim(world):
    cluster = world(pvc={"name": "models"})
    assert cluster.reconcile().applied == RBAC
    cluster.objects["PersistentVolumeClaim/nim/models"] = {"metadata": {"name": "models"}}
    assert cluster.reconcile().applied == [POD]
    cluster.run_pod()
    assert cluster.reconcile().applied == [KEPT, JOB]


def test_next_steps_refused_claim(world):
    cluster = world()
    cluster.refused = {CLAIM: "spec.accessModes: Unsupported value"}
    cluster.reconcile()
    cluster.reconcile()
    assert sorted(cluster.objects) == sorted(RBAC)
    assert cluster.state == "NotReady"
    cluster.refused = {}
    assert cluster.reconcile().applied == [CLAIM]
    assert cluster.reconcile().applied == [POD]


def test_next_steps_no_job_without_claim(world):
    """A Job whose claim the API server refuses would have to be deleted."""
    cluster = world()
    cluster.protocol = "native"
    cluster.refused[CLAIM] = "accessModes: invalid"
    for _ in range(3):
        cluster.reconcile()
    assert JOB not in cluster.objects


@pytest.mark.parametrize("job_remains", [True, False], ids=["job-there", "job-expired"])
def test_next_steps_lost_claim(world, job_remains):
    cluster = world().become_ready()
    del cluster.objects[CLAIM]
    if not job_remains:
        del cluster.objects[JOB]
    first = cluster.reconcile()
    assert (first.applied, first.pruned) == ([], [JOB] if job_remains else [])
    assert first.events == [("Warning", "PVCLost"), ("Normal", "NotReady")]
    assert cluster.condition("NIM_CACHE_JOB_COMPLETED")[:2] == ("False", "PVCLost")
    assert cluster.state == "NotReady"
    assert set(cluster.cr["status"]) == {"state", "conditions", "observedGeneration"}
    second = cluster.reconcile()
    assert second.applied == [CLAIM]
    assert cluster.state == "PVC-Created"
    assert cluster.reconcile().applied == [JOB]
    assert cluster.state == "Started"
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert cluster.state == "Ready"
    assert len(cluster.cr["status"]["profiles"]) == 1


def test_next_steps_lost_claim_after_crash(world):
    cluster = world().become_ready()
    del cluster.objects[CLAIM]
    old = cluster.cr
    cluster.reconcile()
    cluster.cr = old | {"status": old["status"] | {"state": "Ready"}}
    assert cluster.reconcile().applied == []
    assert cluster.state == "NotReady"


def test_next_steps_lost_claim_waits_for_job(world):
    cluster = world().become_ready()
    del cluster.objects[CLAIM]
    going = cluster.objects[JOB]
    cluster.reconcile()
    going["metadata"]["deletionTimestamp"] = "now"
    cluster.objects[JOB] = going
    assert cluster.reconcile().applied == []
    del cluster.objects[JOB]
    assert cluster.reconcile().applied == [CLAIM]


def test_next_steps_lost_user_claim(world):
    """The Job of a deleted claim proves nothing about the claim that replaces it."""
    cluster = world(pvc={"name": "models"})
    claim = {"metadata": {"name": "models"}}
    cluster.objects["PersistentVolumeClaim/nim/models"] = claim
    cluster.become_ready()
    del cluster.objects["PersistentVolumeClaim/nim/models"]
    assert cluster.reconcile().pruned == [JOB]
    assert cluster.state == "NotReady"
    cluster.objects["PersistentVolumeClaim/nim/models"] = claim
    assert cluster.reconcile().applied == [JOB]
    assert cluster.state == "Started"


def test_next_steps_terminating_claim(world):
    cluster = world()
    cluster.reconcile()
    cluster.run_pod()
    cluster.objects[CLAIM]["metadata"]["deletionTimestamp"] = "now"
    done = cluster.reconcile()
    assert (done.applied, done.assessment.requeue.after) == ([], True)


def test_next_steps_expired_finished_job(world):
    cluster = world().become_ready()
    del cluster.objects[JOB]
    assert cluster.reconcile().applied == []
    assert cluster.state == "Ready"


def test_next_steps_expired_failed_job(world):
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


def test_next_steps_given_profiles(world):
    cluster = world(source={"ngc": NGC | {"model": {"profiles": ["bbbb", "zzzz"]}}})
    cluster.become_ready()
    args = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["--profiles", "bbbb", "zzzz"]
    assert [item["name"] for item in cluster.cr["status"]["profiles"]] == ["bbbb"]


def test_next_steps_annotated_profiles(world):
    cluster = world()
    cluster.cr["metadata"]["annotations"] = {"nvidia.com/selected-profiles": '["cccc"]'}
    cluster.become_ready()
    args = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["--profiles", "cccc"]


@pytest.mark.parametrize("text", ["cccc", "[]", '{"a": 1}', "[1]"])
def test_next_steps_invalid_annotation(world, text):
    cluster = world()
    cluster.cr["metadata"]["annotations"] = {"nvidia.com/selected-profiles": text}
    cluster.reconcile()
    cluster.run_pod()
    assert cluster.reconcile().applied == [KEPT]
    assert "must be a JSON list" in cluster.condition("NIM_CACHE_RECONCILE_FAILED")[2]


def test_next_steps_cert_config(world):
    cluster = world(certConfig={"name": "c", "mountPath": "/c"})
    cluster.reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([KEPT], [POD])
    assert cluster.state == "NotReady"


def job(*conditions, **status):
    listed = [{"type": kind, "status": value} for kind, value in conditions]
    return {"status": {**status, "conditions": listed}}


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param({}, False, id="no status"),
        pytest.param({"status": {"conditions": None}}, False, id="no conditions"),
        pytest.param(job(active=1), False, id="active"),
        pytest.param(job(("Complete", "False")), False, id="not complete"),
        pytest.param(job(("Failed", "True"), failed=6), False, id="failed"),
        pytest.param(job(("Complete", "True")), True, id="complete"),
        pytest.param(job(succeeded=1, failed=2), True, id="succeeded at last"),
    ],
)
def test_has_succeeded(live, expected):
    assert has_succeeded(live) is expected


def test_job_condition():
    live = job(("Complete", "False"), ("Failed", "True"))
    assert job_condition(live, "Failed") == {"type": "Failed", "status": "True"}
    assert job_condition(live, "Complete") == job_condition(live, "Other") == {}


@pytest.mark.parametrize(
    ("pvc", "claim", "expected"),
    [
        pytest.param(None, None, True, id="to create"),
        pytest.param(None, OURS, True, id="exists"),
        pytest.param(None, {"metadata": {"name": "llama-pvc"}}, False, id="foreign"),
        pytest.param(
            {"create": True, "name": "llama-pvc"},
            {"metadata": {"name": "llama-pvc"}},
            True,
            id="named",
        ),
        pytest.param(None, TERMINATING, False, id="terminating"),
        pytest.param({"name": "models"}, None, False, id="of the user, missing"),
        pytest.param({"create": True, "size": "big"}, None, False, id="invalid size"),
    ],
)
def test_has_pvc(cache, pvc, claim, expected):
    assert has_pvc(NIMCacheApp(cache(pvc=pvc), Observed({CLAIM: claim}))) is expected


PLACED = {
    "nodeSelector": {"pool": "gpu"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
}
CHANGES = {
    "placement": PLACED,
    "env": {"env": [{"name": "A", "value": "1"}]},
    "resources": {"resources": {"cpu": "2"}},
    "user": {"userID": 1234},
    "runtime class": {"runtimeClassName": "nvidia"},
    "proxy": {"proxy": {"httpsProxy": "http://p:1"}},
    "pull secret": {"source": {"ngc": {**NGC_OF_CACHE, "pullSecret": "other"}}},
    "auth secret": {"source": {"ngc": {**NGC_OF_CACHE, "authSecret": "other"}}},
    "profiles": {"source": {"ngc": {**NGC_OF_CACHE, "model": {"profiles": ["bbbb"]}}}},
}


def start_job(cluster, **status):
    """Reconcile until the Job exists, with this status."""
    cluster.reconcile()
    cluster.run_pod()
    assert JOB in cluster.reconcile().applied
    cluster.set_job(**status)
    cluster.reconcile()
    return cluster


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize(
    "status",
    [{"active": 1}, {"active": 1, "ready": 1}, {"failed": 6}],
    ids=["waits", "runs", "failed"],
)
def test_next_steps_changed_spec_recreates_job(world, status, change):
    cluster = start_job(world(), **status)
    old = cluster.objects[JOB]["spec"]
    cluster.change(**change)
    done = cluster.reconcile()
    assert (JOB in done.applied, done.pruned) == (False, [JOB])
    assert ("Normal", "SpecChanged") in done.events
    assert cluster.condition("Reconciling")[1] == "SpecChanged"
    assert done.assessment.requeue.after
    assert cluster.reconcile().applied == [JOB]
    assert cluster.objects[JOB]["spec"] != old
    assert cluster.reconcile().pruned == []


@pytest.mark.parametrize(
    ("status", "is_recreated"),
    [
        ({}, True),
        ({"active": 1}, False),
        ({"failed": 1}, False),
        ({"active": 1, "ready": 1}, False),
    ],
    ids=["refused", "waits", "failed", "runs"],
)
def test_next_steps_pod_security_recreates_refused_job(world, status, is_recreated):
    """The template of a Job cannot change, so the annotation has an effect only on a new Job."""
    cluster = start_job(world(), **status)
    cluster.cr["metadata"]["annotations"] = {"nimops.nim/pod-security": "restricted"}
    done = cluster.reconcile()
    assert (("Normal", "SpecChanged") in done.events) is is_recreated
    assert done.pruned == ([JOB] if is_recreated else [])
    assert (JOB in cluster.reconcile().applied) is is_recreated
    cluster.set_job(**status)
    assert cluster.reconcile().pruned == []


def test_next_steps_changed_spec_one_event(world):
    """The controller may take its time to delete the Job."""
    cluster = start_job(world(), active=1)
    old = cluster.objects[JOB]
    cluster.change(**PLACED)
    assert ("Normal", "SpecChanged") in cluster.reconcile().events
    cluster.objects[JOB] = old
    assert ("Normal", "SpecChanged") not in cluster.reconcile().events


def test_next_steps_waits_for_job_of_namesake(world):
    """It downloaded something else, to a claim that the user keeps."""
    old = start_job(world(), active=1, ready=1).objects
    for item in (old[JOB], old.get(KEPT) or {}):
        for owner in (item.get("metadata") or {}).get("ownerReferences") or []:
            owner["uid"] = "u-before"
    fresh = world(source={"ngc": {**NGC_OF_CACHE, "modelPuller": "other:1"}})
    fresh.objects = {key: old[key] for key in (JOB, CLAIM)}
    fresh.objects[CLAIM]["metadata"]["ownerReferences"] = []
    for _ in range(3):
        fresh.reconcile()
        if POD in fresh.objects:
            fresh.run_pod()
    assert fresh.condition("Stalled") is None
    assert "Job llama-job to be deleted" in fresh.condition("Reconciling")[2]


@pytest.mark.parametrize("change", [PLACED, {"userID": 1234}])
def test_next_steps_changed_spec_keeps_finished_download(world, change):
    cluster = start_job(world(), active=1, ready=1)
    cluster.set_job("Complete", succeeded=1)
    cluster.change(**change)
    assert cluster.reconcile().pruned == []
    assert cluster.state == "Ready"
    cluster.change(userID=5)
    assert cluster.reconcile().applied == []
    assert cluster.state == "Ready"


def test_next_steps_other_profiles_after_finished_download(world):
    """The change was accepted just before the status recorded the end of the download."""
    cluster = start_job(world(), active=1, ready=1)
    cluster.set_job("Complete", succeeded=1)
    cluster.change(**CHANGES["profiles"])
    assert cluster.reconcile().pruned == [JOB]
    cluster.reconcile()
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert [profile["name"] for profile in cluster.cr["status"]["profiles"]] == ["bbbb"]


def test_next_steps_changed_spec_equal_job(world):
    cluster = start_job(world(resources={"memory": "1Gi"}), active=1)
    cluster.change(resources={"memory": "1024Mi", "cpu": "0"}, env=[])
    assert cluster.reconcile().pruned == []


@pytest.mark.parametrize("has_annotations", [True, False], ids=["ours", "of-another-release"])
def test_next_steps_upgrade_keeps_job(world, has_annotations):
    """Another release builds another Job for the same spec."""
    cluster = start_job(world(), active=1)
    job = cluster.objects[JOB]
    job["spec"]["template"]["spec"]["priority"] = 1
    job["spec"]["template"]["spec"]["containers"][0]["workingDir"] = "/"
    job["spec"]["template"]["spec"]["nodeSelector"] = {"old": "release"}
    if not has_annotations:
        del job["metadata"]["annotations"]
        del cluster.cr["status"]["observedGeneration"]
    assert cluster.reconcile().pruned == []
    assert cluster.reconcile().pruned == []
    cluster.change(**PLACED)
    assert cluster.reconcile().pruned == [JOB]


def test_next_steps_changed_spec_recreates_probe_pod(world):
    cluster = world()
    cluster.reconcile()
    cluster.change(**PLACED)
    assert cluster.reconcile().pruned == [POD]
    assert "spec has changed" in cluster.condition("Reconciling")[2]
    assert cluster.reconcile().applied == [POD]
    assert cluster.objects[POD]["spec"]["nodeSelector"] == {"pool": "gpu"}


def test_next_steps_other_source_before_download(world):
    cluster = start_job(world(source={"hf": HF}), active=1)
    cluster.change(source={"hf": {**HF, "modelName": "other", "modelPuller": "y:1"}})
    assert JOB in cluster.reconcile().pruned
    start_job(cluster, active=1)
    container = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "y:1"
    assert "hf/other" in str(container["command"])


@pytest.mark.parametrize("counts", [{"ready": 1}, {"failed": 1}, {"succeeded": 1}])
def test_next_steps_other_source_after_start(world, counts):
    cluster = start_job(world(source={"hf": HF}), active=1)
    cluster.set_job(active=1, **counts)
    cluster.change(source={"hf": {**HF, "modelName": "other"}})
    done = cluster.reconcile()
    assert (done.applied, done.pruned) == ([], [])
    assert cluster.condition("Stalled")[1:] == (
        "SourceChanged",
        "spec.source has changed after the download started: undo the change, or create another"
        " NIMCache for another source",
    )
    assert cluster.state == "NotReady"
    cluster.change(source={"hf": HF})
    cluster.reconcile()
    assert cluster.condition("Stalled") is None


def test_next_steps_other_image_other_manifest(world):
    """A manifest that was found before the source changed belongs to another image."""
    cluster = world(source={"hf": HF})
    cluster.reconcile()
    cluster.run_pod()
    cluster.refused[JOB] = "quota"
    assert KEPT in cluster.reconcile().applied
    cluster.refused = {}
    cluster.change(source={"hf": {**HF, "modelPuller": "y:1"}})
    assert cluster.reconcile().pruned == [KEPT]
    assert cluster.reconcile().applied == [POD]
    cluster.run_pod()
    assert cluster.reconcile().applied == [KEPT, JOB]


def test_next_steps_download_started(world):
    """The CRD reads this field to refuse another source."""
    cluster = start_job(world(), active=1, ready=0)
    assert "started" not in cluster.cr["status"].get("download", {})
    cluster.set_job(active=1, ready=1)
    cluster.reconcile()
    assert cluster.cr["status"]["download"]["started"] is True
    del cluster.objects[JOB]
    cluster.reconcile()
    assert cluster.cr["status"]["download"]["started"] is True
    cluster.set_job("Complete", succeeded=1)
    cluster.reconcile()
    assert "download" not in cluster.cr["status"]
    assert cluster.cr["status"]["pvc"]
    del cluster.objects[CLAIM]
    cluster.reconcile()
    assert not {"download", "pvc"} & set(cluster.cr["status"])


def test_next_steps_claim_differs(world):
    cluster = world().become_ready()
    cluster.change(
        storage={"pvc": {"create": True, "size": "80Gi", "volumeAccessMode": "ReadWriteMany"}}
    )
    assert ("Warning", "ClaimDiffers") in cluster.reconcile().events
    assert cluster.condition("ClaimDiffers")[2].startswith(
        'PersistentVolumeClaim "llama-pvc" differs from the spec and is not changed:'
        " size 50Gi instead of 80Gi, volumeAccessMode ReadWriteOnce instead of ReadWriteMany. Set these values in spec.storage.pvc"
    )
    assert cluster.reconcile().events == []
    cluster.objects[CLAIM]["spec"] = {
        "accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}
    }  # fmt: skip
    assert cluster.reconcile().events == []
    assert cluster.condition("ClaimDiffers") is None
