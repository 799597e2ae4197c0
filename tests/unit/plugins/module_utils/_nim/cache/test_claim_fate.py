# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The fate of a created claim when its NIMCache is deleted and created again."""

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError

PVC = {"create": True, "size": "50Gi", "volumeAccessMode": "ReadWriteOnce"}
CLAIM, JOB = "PersistentVolumeClaim/nim/llama-pvc", "Job/nim/llama-job"
KEEP, MODEL = "nimops.nim/keep-claim", "nimops.nim/cached-model"
SERVICES, BUILDS = "NIMService/nim/*", "NIMBuild/nim/*"
LABELS = {"app.kubernetes.io/part-of": "nim-service", "app.kubernetes.io/instance": "chat"}


def service(name="chat", *, cache="llama", claim=None, **metadata):
    storage = {"pvc": {"name": claim}} if claim else {"nimCache": {"name": cache}}
    return {"metadata": {"name": name, **metadata}, "spec": {"storage": storage}}


def build(name="engine", **metadata):
    return {"metadata": {"name": name, **metadata}, "spec": {"nimCache": {"name": "llama"}}}


def pod(name, phase="Running", **metadata):
    return {"metadata": {"name": name, **metadata}, "status": {"phase": phase}}


def owned(kind, name):
    return {"ownerReferences": [{"kind": kind, "name": name, "uid": "u", "controller": True}]}


def keep(world, value="true"):
    world.cr["metadata"]["annotations"] = {KEEP: value}


def owners(world):
    return [ref["uid"] for ref in world.objects[CLAIM]["metadata"].get("ownerReferences") or []]


def record(world):
    text = (world.objects[CLAIM]["metadata"].get("annotations") or {}).get(MODEL)
    return json.loads(text) if text else None


def test_finalize_unused_claim_goes(world):
    cluster = world().become_ready()
    assert cluster.finalize() == ([], "")
    assert (owners(cluster), record(cluster)) == (["u-cache"], None)


@pytest.mark.parametrize(
    ("users", "pods", "why"),
    [
        ({SERVICES: [service()]}, [], "NIMService chat uses it"),
        ({BUILDS: [build()]}, [], "NIMBuild engine uses it"),
        ({SERVICES: [service(claim="llama-pvc")]}, [], "NIMService chat uses it"),
        ({SERVICES: [service(), service("b")]}, [], "NIMService b, NIMService chat use it"),
        ({SERVICES: [service(cache="x")]}, [pod("p", labels=LABELS)], "NIMService chat uses it"),
        ({}, [pod("p", **owned("ReplicaSet", "own"))], "ReplicaSet own uses it"),
        ({}, [pod("bare")], "Pod bare uses it"),
        ({SERVICES: [service(cache="x"), service(claim="y")]}, [], ""),
        ({SERVICES: [service(deletionTimestamp="t")]}, [pod("p", labels=LABELS)], ""),
        ({BUILDS: [build(deletionTimestamp="t")]}, [pod("p", **owned("NIMBuild", "engine"))], ""),
        ({}, [pod("p", labels=LABELS)], ""),
        ({}, [pod("p", **owned("Job", "llama-job"))], ""),
        ({}, [pod("bare", "Succeeded"), pod("b", deletionTimestamp="t")], ""),
    ],
)
def test_finalize_claim_of_users(world, users, pods, why):
    """Users that stay keep it; those that are being deleted as well, and its own Job, do not."""
    cluster = world().become_ready()
    cluster.users, cluster.pods = users, pods
    events, error = cluster.finalize()
    assert (owners(cluster) == [], error) == (bool(why), "")
    if not why:
        assert (events, record(cluster)) == ([], None)
        return
    assert events[0][0] == "ClaimKept"
    assert f"because {why}. A new NIMCache llama adopts it" in events[0][1]
    assert record(cluster)["profiles"] == ["aaaa"]
    cluster.recreate()
    assert CLAIM in cluster.objects


def test_finalize_race_repeats(world):
    cluster = world().become_ready()
    cluster.users = {SERVICES: [service()]}
    cluster.refused = {CLAIM: ""}
    events, error = cluster.finalize()
    assert (events, "could not be kept" in error) == ([], True)
    assert owners(cluster) == ["u-cache"]


@pytest.mark.parametrize("pvc", [{"name": "llama-pvc"}, {"name": "llama-pvc", "create": True}])
def test_finalize_foreign_claim_is_unchanged(world, pvc):
    """A claim that existed before has no owner, and none of our business."""
    cluster = world(pvc=pvc)
    cluster.objects[CLAIM] = {"kind": "PersistentVolumeClaim", "metadata": {"name": "llama-pvc"}}
    keep(cluster)
    cluster.users = {SERVICES: [service()]}
    cluster.become_ready()
    before = dict(cluster.objects[CLAIM])
    assert cluster.finalize() == ([], "")
    assert cluster.objects[CLAIM] == before


def test_keep_claim_leaves_at_once(world):
    """Before the deletion, so that one in the foreground is not faster."""
    cluster = world().become_ready()
    keep(cluster)
    cluster.reconcile()
    assert (owners(cluster), record(cluster)["complete"]) == ([], True)
    assert not cluster.reconcile().assessment.requeue.after
    events, _error = cluster.finalize()
    assert f"because the annotation {KEEP} is set" in events[0][1]


def test_keep_claim_record_is_due(world):
    """The pass in which it becomes Ready asks for another one, which completes the record."""
    cluster = world()
    keep(cluster)
    passes = []
    reconcile = cluster.reconcile
    cluster.reconcile = lambda: passes.append(reconcile()) or passes[-1]
    cluster.become_ready()
    assert passes[-1].assessment.requeue.after


def test_finalize_without_spec(world):
    """A NIMCache that is too large is finalized without its spec, also if that names the claim."""
    key = "PersistentVolumeClaim/nim/files"
    cluster = world(pvc=PVC | {"name": "files"}).become_ready()
    assert cluster.objects[key]["metadata"]["ownerReferences"]
    cluster.users = {SERVICES: [service(claim="files")]}
    cluster.cr["spec"] = {}
    events, _error = cluster.finalize()
    assert "because NIMService chat uses it" in events[0][1]
    assert not cluster.objects[key]["metadata"].get("ownerReferences")


def test_keep_claim_turned_off(world):
    cluster = world().become_ready()
    keep(cluster)
    cluster.reconcile()
    keep(cluster, "false")
    cluster.reconcile()
    assert (owners(cluster), record(cluster)) == (["u-cache"], None)


def test_keep_claim_without_label_is_not_taken_back(world):
    """Without the label, the operator's account may not become the owner."""
    cluster = world().become_ready()
    keep(cluster)
    cluster.reconcile()
    del cluster.objects[CLAIM]["metadata"]["labels"]
    keep(cluster, "false")
    cluster.reconcile()
    assert owners(cluster) == []


@pytest.mark.parametrize("value", ["yes", "1", "{{ 1 }}", "x" * 999])
def test_keep_claim_invalid(world, value):
    """It changes nothing, and loses nothing at a deletion."""
    cluster = world().become_ready()
    keep(cluster, value)
    with pytest.raises(NimError, match=r"keep-claim\]: .* is neither true nor false"):
        cluster.reconcile()
    assert cluster.finalize()[0][0][0] == "ClaimKept"
    assert owners(cluster) == []


def test_adopt_without_download(world):
    cluster = world().become_ready()
    profiles = cluster.cr["status"]["profiles"]
    keep(cluster)
    cluster.reconcile()
    cluster.finalize()
    cluster.recreate().reconcile()
    cluster.run_pod()
    done = cluster.reconcile()
    assert (cluster.state, JOB in cluster.objects) == ("Ready", False)
    assert cluster.cr["status"]["profiles"] == profiles
    assert cluster.cr["status"]["pvc"] == "llama-pvc"
    assert ("Normal", "ClaimAdopted") in done.events
    assert owners(cluster) == [], "until the status is stored, a crash must find the record"
    assert done.assessment.requeue.after, "no event triggers the next pass"
    cluster.reconcile()
    assert not cluster.reconcile().assessment.requeue.after
    assert (owners(cluster), record(cluster)) == (["u-cache-next"], None)
    assert cluster.finalize() == ([], "")


def test_adopt_downloads_what_is_missing(world):
    cluster = world().become_ready()
    keep(cluster)
    cluster.reconcile()
    cluster.finalize()
    ngc = cluster.cr["spec"]["source"]["ngc"] | {"model": {"profiles": ["aaaa", "cccc"]}}
    cluster.recreate(source={"ngc": ngc}).reconcile()
    cluster.run_pod()
    cluster.reconcile()
    args = cluster.objects[JOB]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert args == ["--profiles", "aaaa", "cccc"]


def test_adopt_refuses_another_model(world):
    cluster = world().become_ready()
    keep(cluster)
    cluster.reconcile()
    cluster.finalize()
    ngc = cluster.cr["spec"]["source"]["ngc"] | {"modelPuller": "nvcr.io/nim/other:2"}
    cluster.recreate(source={"ngc": ngc}).reconcile()
    cluster.run_pod()
    cluster.reconcile()
    status, reason, message = cluster.condition("Stalled")
    assert (status, reason) == ("True", "ClaimHoldsOtherModel")
    assert "nvcr.io/nim/meta/llama:1.12.0" in message
    assert JOB not in cluster.objects
    del cluster.objects[CLAIM]["metadata"]["annotations"]
    cluster.reconcile()
    assert JOB in cluster.objects


def test_adopt_unfinished_download_goes_on(world):
    cluster = world()
    keep(cluster)
    cluster.reconcile()
    cluster.run_pod()
    cluster.reconcile()
    cluster.set_job(ready=1)
    cluster.reconcile()
    assert cluster.finalize()[0][0][0] == "ClaimKept"
    cluster.recreate().reconcile()
    cluster.run_pod()
    assert JOB in cluster.reconcile().applied


def test_reconcile_without_annotation_asks_and_patches_nothing_more(world):
    cluster = world().become_ready()
    done = cluster.reconcile()
    assert not done.desired.patches
    assert not any("#claim" in key or key.endswith("/*") for key in done.keys)
