# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The download of another version, beside the served one."""

from __future__ import annotations

import copy

import pytest

SERVICES = "NIMService/nim/*"
MAP = "ConfigMap/nim/llama-manifest"
POD = "Pod/nim/llama-pod"
RENEWAL = "Job/nim/llama-renewal"
REMOVAL = "Job/nim/llama-removal"
RENEW = "nimops.nim/renew"


def test_renewal_downloads_beside_the_served_version(hub):
    cluster = hub()
    cluster.change(source=cluster.hugging("v2"))
    done = cluster.reconcile()
    assert (cluster.state, cluster.condition("Renewed")[1]) == ("Ready", "Downloading")
    assert ("Normal", "RenewalStarted") not in done.events
    cluster.print_nothing()
    version = cluster.cr["status"]["renewal"]["id"]
    job = cluster.objects[RENEWAL]
    assert cluster.mount_paths(job) == {f".nimops/{version}"}
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[-2:] == ["--revision", "v2"]
    assert cluster.condition("Ready")[0] == "True"
    assert cluster.served["source"]["revision"] == "v1"
    assert cluster.cr["status"]["pvc"] == "llama-pvc"


def test_renewal_of_profiles_has_its_own_manifest(world):
    cluster = world().become_ready()
    del cluster.objects["Job/nim/llama-job"]
    ngc = cluster.cr["spec"]["source"]["ngc"]
    cluster.change(
        source={
            "ngc": {
                **ngc,
                "modelPuller": "nvcr.io/nim/meta/llama:1.13.0",
                "model": {"profiles": ["cccc"]},
            }
        }
    )
    done = cluster.reconcile()
    assert (done.pruned, cluster.cr["status"]["profiles"][0]["name"]) == ([MAP], "aaaa")
    cluster.reconcile()
    assert cluster.objects[POD]["spec"]["containers"][0]["image"].endswith(":1.13.0")
    cluster.run_pod()
    cluster.reconcile()
    assert cluster.objects[RENEWAL]["spec"]["template"]["spec"]["containers"][0]["args"] == [
        "--profiles",
        "cccc",
    ]
    cluster.set_job("Complete", name="llama-renewal", succeeded=1)
    cluster.reconcile()
    assert [item["name"] for item in cluster.cr["status"]["profiles"]] == ["cccc"]
    assert [item["name"] for item in cluster.cr["status"]["former"][0]["profiles"]] == ["aaaa"]


def test_renewal_by_annotation(hub):
    cluster = hub()
    cluster.cr["metadata"]["annotations"] = {RENEW: "today"}
    cluster.reconcile()
    cluster.print_nothing()
    cluster.set_job("Complete", name="llama-renewal", succeeded=1)
    cluster.reconcile()
    assert (cluster.served["trigger"], cluster.served["source"]["revision"]) == ("today", "v1")
    cluster.cr["metadata"]["annotations"] = {}
    cluster.reconcile()
    assert "renewal" not in cluster.cr["status"]


def test_abandoned_download_is_removed(hub):
    cluster = hub()
    cluster.start_download("v2")
    version = cluster.cr["status"]["renewal"]["id"]
    cluster.change(source=cluster.hugging("v1"))
    done = cluster.reconcile()
    assert done.pruned == [RENEWAL]
    assert cluster.former == [{"id": version, "folder": f".nimops/{version}"}]
    for _pass in range(2):
        cluster.reconcile()
    command = cluster.objects[REMOVAL]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[-1] == f".nimops/{version}"


@pytest.mark.parametrize(
    "status", [{"renewal": {"id": ""}}, {"former": [{"id": ""}]}, {"served": {"id": ""}}], ids=str
)
def test_version_without_id_is_ignored(hub, status):
    """A user can write it; a status that repeats it without the id would be refused."""
    cluster = hub()
    served = cluster.served["id"]
    cluster.cr["status"] |= status
    for _pass in range(3):
        cluster.reconcile()
    assert "renewal" not in cluster.cr["status"]
    assert not cluster.cr["status"].get("former")
    assert cluster.served["id"] == served


def test_another_change_replaces_the_download(hub):
    cluster = hub()
    cluster.start_download("v2")
    cluster.change(source=cluster.hugging("v3"))
    done = cluster.reconcile()
    assert done.pruned == [RENEWAL]
    cluster.reconcile()
    cluster.print_nothing()
    command = cluster.objects[RENEWAL]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[-1] == "v3"
    assert cluster.mount_paths(cluster.objects[RENEWAL]) == {
        cluster.cr["status"]["renewal"]["folder"]
    }


def test_return_to_the_former_version_downloads_nothing(hub):
    cluster = hub()
    cluster.users = {SERVICES: [cluster.service("a"), cluster.service("b")]}
    cluster.renew(revision="v2")
    cluster.follow_turns(cluster.reconcile())
    cluster.switch("a", "Failed")
    del cluster.objects[RENEWAL]
    cluster.change(source=cluster.hugging("v1"))
    done = cluster.reconcile()
    assert (done.applied, "folder" in cluster.served) == ([], False)
    assert cluster.follow_turns(cluster.reconcile()) == ["a"]
    cluster.users[SERVICES][0]["status"] = {"state": "Ready"}
    cluster.reconcile()
    assert [item.get("removed") for item in cluster.former] == [True]
    cluster.reconcile()
    command = cluster.objects[REMOVAL]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[-1].startswith(".nimops/")


def test_inputs_are_not_changed(hub):
    cluster = hub()
    cluster.renew(revision="v2")
    cluster.users = {SERVICES: [cluster.service("a")]}
    before = copy.deepcopy(cluster.users)
    cluster.reconcile()
    assert cluster.users == before


def test_renewal_of_a_prepared_claim_is_refused(hub):
    """The operator would serve an empty folder."""
    cluster = hub()
    cluster.cr["metadata"]["annotations"] = {"nimops.nim/prepared": "true"}
    cluster.change(source=cluster.hugging("v2"))
    for _pass in range(2):
        assert cluster.reconcile().applied == []
    assert cluster.condition("Renewed")[:2] == ("False", "ClaimPrepared")
    assert cluster.served["source"]["revision"] == "v1"
    assert cluster.condition("Ready")[0] == "True"
    cluster.cr["metadata"]["annotations"] = {}
    cluster.reconcile()
    assert cluster.condition("Renewed")[1] == "Downloading"


def test_renewal_waits_for_the_removal_of_the_same_folder(hub):
    cluster = hub()
    cluster.start_download("v2")
    cluster.change(source=cluster.hugging("v1"))
    for _pass in range(3):
        cluster.reconcile()
    assert cluster.former[0]["removed"]
    cluster.change(source=cluster.hugging("v2"))
    for _pass in range(2):
        cluster.reconcile()
        assert (RENEWAL in cluster.objects, "renewal" in cluster.cr["status"]) == (False, False)
        assert cluster.condition("Renewed")[1] == "WaitingForRemoval"
    cluster.set_job("Complete", name="llama-removal", succeeded=1)
    cluster.reconcile()
    assert cluster.former == []
    cluster.reconcile()
    cluster.print_nothing()
    assert RENEWAL in cluster.objects


def test_renewal_continues_a_part_of_a_download(hub):
    """Its files may be removed only if another pass has not marked them yet."""
    cluster = hub()
    cluster.start_download("v2")
    folder = cluster.cr["status"]["renewal"]["folder"]
    cluster.folders = None
    cluster.change(source=cluster.hugging("v1"))
    cluster.reconcile()
    cluster.start_download("v2")
    assert (cluster.former, cluster.cr["status"]["renewal"]["folder"]) == ([], folder)
    assert RENEWAL in cluster.objects


def test_renewals_keep_at_most_two_former_versions(hub):
    cluster = hub()
    cluster.users = {"NIMService/nim/*": [cluster.service("a"), cluster.service("b")]}
    cluster.renew("v2")
    cluster.follow_turns(cluster.reconcile())
    cluster.switch("a")
    cluster.follow_turns(cluster.reconcile())
    del cluster.objects[RENEWAL]
    cluster.renew("v3")
    assert [item["source"]["revision"] for item in cluster.former] == ["v1", "v2"]
    cluster.change(source=cluster.hugging("v4"))
    cluster.reconcile()
    assert cluster.condition("Renewed")[1] == "WaitingForRemoval"
    assert "renewal" not in cluster.cr["status"]


def test_renewal_of_a_long_name(hub):
    """The name fits the first Job, but not that of a renewal."""
    cluster = hub()
    cluster.cr["metadata"]["name"] = "x" * 56
    for key in [key for key in cluster.objects if "llama-pvc" in key]:
        cluster.objects[key.replace("llama", "x" * 56)] = cluster.objects[key]
    cluster.change(source=cluster.hugging("v2"))
    cluster.reconcile()
    assert cluster.state == "Ready"
    status, _reason, message = cluster.condition("Renewed")
    assert (status, "a name of at most 55" in message) == ("False", True)
    assert not [key for key in cluster.objects if key.endswith("-renewal")]
