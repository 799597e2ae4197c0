# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The removal of former files."""

from __future__ import annotations

import pytest

SERVICES = "NIMService/nim/*"
CACHES = "NIMCache/nim/*"
CLAIM = "PersistentVolumeClaim/nim/llama-pvc"
REMOVAL = "Job/nim/llama-removal"


def test_removal_when_nothing_mounts(hub):
    cluster = hub()
    cluster.users = {SERVICES: [cluster.service("a")], CACHES: [cluster.cr]}
    cluster.folders = [{"metadata": {"name": "p"}, "status": {"phase": "Running"}, "folders": [""]}]
    cluster.renew(revision="v2")
    cluster.follow_turns(cluster.reconcile())
    cluster.switch("a")
    cluster.reconcile()
    assert "Pod p still mounts the first version" in cluster.condition("Renewed")[2]
    assert REMOVAL not in cluster.objects
    cluster.folders = [
        {
            "metadata": {"name": "q"},
            "status": {"phase": "Running"},
            "folders": [cluster.served["folder"]],
        },
        {"metadata": {"name": "r"}, "status": {"phase": "Succeeded"}, "folders": [""]},
    ]
    cluster.reconcile()
    assert REMOVAL not in cluster.objects, "the version is marked first"
    cluster.reconcile()
    container = cluster.objects[REMOVAL]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][:2] == ["sh", "-c"]
    assert container["command"][-1] == ""
    cluster.set_job("Complete", name="llama-removal", succeeded=1)
    done = cluster.reconcile()
    assert (cluster.former, done.pruned) == ([], [REMOVAL])
    assert ("Normal", "FilesRemoved") in done.events
    keys = cluster.reconcile().keys
    assert not [key for key in keys if "*" in key]


PVC = {"name": "llama-pvc", "subPath": "b"}


@pytest.mark.parametrize(
    "users",
    [
        {SERVICES: [{"metadata": {"name": "x"}, "spec": {"storage": {"pvc": PVC}}}]},
        {CACHES: [{"metadata": {"name": "other"}, "spec": {"storage": {"pvc": PVC}}}]},
    ],
    ids=["service", "cache"],
)
def test_removal_leaves_files_that_may_be_of_others(hub, users):
    cluster = hub()
    cluster.users = users
    cluster.renew(revision="v2")
    events = [event for _pass in range(3) for event in cluster.reconcile().events]
    assert ("Normal", "FilesKept") in events
    assert (cluster.former, REMOVAL in cluster.objects) == ([], False)


def test_removal_leaves_the_files_of_a_given_claim(hub):
    """Others may have written files beside the first version; the second one is ours."""
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "mine", "namespace": "nim"}}
    cluster = hub(pvc={"name": "mine"}, objects={"PersistentVolumeClaim/nim/mine": claim})
    cluster.renew(revision="v2")
    folder = cluster.served["folder"]
    events = [event for _pass in range(3) for event in cluster.reconcile().events]
    assert ("Normal", "FilesKept") in events
    del cluster.objects["Job/nim/llama-renewal"]
    cluster.renew(revision="v3")
    for _pass in range(3):
        cluster.reconcile()
    container = cluster.objects[REMOVAL]["spec"]["template"]["spec"]["containers"][0]
    assert container["command"][-1] == folder


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (SERVICES, {"spec": {"storage": {"pvc": {"name": "llama-pvc"}}}}),
        (CACHES, {"spec": {"storage": {"pvc": {"name": "llama-pvc", "subPath": ".nimops"}}}}),
    ],
    ids=["service", "cache"],
)
def test_removal_leaves_a_renewed_version_that_others_name(hub, kind, item):
    cluster = hub()
    cluster.renew(revision="v2")
    for _pass in range(2):
        cluster.reconcile()
    cluster.set_job("Complete", name="llama-removal", succeeded=1)
    for _pass in range(2):
        cluster.reconcile()
    del cluster.objects["Job/nim/llama-renewal"]
    cluster.users = {kind: [{"metadata": {"name": "other"}, **item}]}
    cluster.renew(revision="v3")
    for _pass in range(3):
        cluster.reconcile()
    assert (
        f"other names the version in {cluster.former[0]['folder']}"
        in cluster.condition("Renewed")[2]
    )
    assert REMOVAL not in cluster.objects
    cluster.users = {}
    for _pass in range(2):
        cluster.reconcile()
    assert REMOVAL in cluster.objects


def test_removal_waits_for_unknown_pods(hub):
    cluster = hub()
    cluster.folders = None
    cluster.renew(revision="v2")
    for _pass in range(3):
        cluster.reconcile()
    assert REMOVAL not in cluster.objects
    assert len(cluster.former) == 1


def test_removal_failure_is_reported(hub):
    cluster = hub()
    cluster.renew(revision="v2")
    for _pass in range(2):
        cluster.reconcile()
    cluster.set_job("Failed", name="llama-removal", failed=3)
    done = cluster.reconcile()
    assert cluster.condition("Renewed")[:2] == ("True", "RemovalFailed")
    assert ("Warning", "RemovalFailed") in done.events
    assert cluster.reconcile().events == []


def test_abandoned_download_waits_for_its_pod(hub):
    cluster = hub()
    cluster.start_download("v2")
    folder = cluster.cr["status"]["renewal"]["folder"]
    cluster.change(source=cluster.hugging("v1"))
    owner = {"kind": "Job", "name": "llama-renewal", "uid": "j", "controller": True}
    pod = {"metadata": {"name": "p", "ownerReferences": [owner]}, "status": {"phase": "Running"}}
    cluster.folders = [{**pod, "folders": ["", folder]}]
    for _pass in range(3):
        cluster.reconcile()
    assert REMOVAL not in cluster.objects
    cluster.folders = []
    for _pass in range(2):
        cluster.reconcile()
    assert REMOVAL in cluster.objects
