# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The versions in the status of a NIMCache."""

from __future__ import annotations

import pytest

SERVICES = "NIMService/nim/*"
BUILDS = "NIMBuild/nim/*"
CLAIM = "PersistentVolumeClaim/nim/llama-pvc"
RENEWAL = "Job/nim/llama-renewal"
RENEW = "nimops.nim/renew"
HF = {
    "endpoint": "https://huggingface.co",
    "namespace": "acme",
    "modelName": "tiny",
    "modelPuller": "puller:1",
}


def test_ready_records_what_it_serves(hub):
    cluster = hub()
    kept = {key: HF[key] for key in ("endpoint", "namespace", "modelName", "modelPuller")}
    assert cluster.served["source"] == {"kind": "hf", "revision": "v1", **kept}
    assert "folder" not in cluster.served


def test_existing_cache_records_its_spec_and_downloads_nothing(hub):
    """A cache of a release that recorded nothing."""
    cluster = hub()
    before = cluster.cr["status"].pop("served")
    cluster.cr["metadata"]["annotations"] = {RENEW: "1"}
    done = cluster.reconcile()
    assert done.applied == []
    assert cluster.served["source"] == before["source"]
    assert cluster.served["trigger"] == "1"
    done = cluster.reconcile()
    assert (done.applied, "renewal" in cluster.cr["status"]) == ([], False)


def test_unchanged_pass_reads_nothing_more(hub):
    cluster = hub()
    keys = cluster.reconcile().keys
    assert not [key for key in keys if "*" in key or "renewal" in key or "removal" in key]


def test_renewal_complete_is_served(hub):
    cluster = hub()
    done = cluster.renew(revision="v2")
    assert cluster.served["source"]["revision"] == "v2"
    assert cluster.served["folder"] == f".nimops/{cluster.served['id']}"
    assert [item["source"]["revision"] for item in cluster.former] == ["v1"]
    assert "renewal" not in cluster.cr["status"]
    assert ("Normal", "Renewed") in done.events
    assert cluster.state == "Ready"


def test_renewal_failure_keeps_what_is_served(hub):
    cluster = hub()
    before = cluster.served
    cluster.start_download("v2")
    cluster.set_job("Failed", name="llama-renewal", failed=6)
    done = cluster.reconcile()
    status, reason, message = cluster.condition("Renewed")
    assert (status, reason) == ("False", "RenewalFailed")
    assert "Job llama-renewal failed: why" in message
    assert "spec.source" in message
    assert (cluster.state, cluster.condition("Ready")[0], cluster.served) == (
        "Ready",
        "True",
        before,
    )
    assert cluster.condition("Stalled")[1] == "RenewalFailed"
    assert ("Warning", "RenewalFailed") in done.events
    assert cluster.reconcile().events == []
    cluster.change(source=cluster.hugging("v1"))
    cluster.reconcile()
    assert cluster.condition("Stalled") is None


def test_services_stay_when_one_does_not_become_ready(hub):
    cluster = hub()
    cluster.users = {SERVICES: [cluster.service("a"), cluster.service("b")]}
    cluster.renew(revision="v2")
    cluster.follow_turns(cluster.reconcile())
    cluster.switch("a", "Failed")
    done = cluster.reconcile()
    assert cluster.follow_turns(done) == []
    status, reason, message = cluster.condition("Renewed")
    assert (status, reason) == ("False", "ServiceNotReady")
    assert "NIMService a does not become Ready" in message
    assert ("Warning", "ServiceNotReady") in done.events
    assert len(cluster.former) == 1


STALLED = {"type": "Stalled", "status": "True", "reason": "NoProfile", "message": "none"}


@pytest.mark.parametrize(
    "status", [{"state": "Ready"}, {"state": "Pending", "conditions": [STALLED]}], ids=str
)
def test_renewal_waits_for_a_build(hub, status):
    cluster = hub()
    cluster.users = {
        BUILDS: [{"metadata": {"name": "engine"}, "spec": {"nimCache": {"name": "llama"}}}]
    }
    cluster.renew(revision="v2")
    assert cluster.served["source"]["revision"] == "v1"
    assert "NIMBuild engine" in cluster.condition("Renewed")[2]
    del cluster.objects[RENEWAL]
    cluster.users[BUILDS][0]["status"] = status
    cluster.reconcile()
    assert cluster.served["source"]["revision"] == "v2"


def test_lost_claim_forgets_versions(hub):
    cluster = hub()
    cluster.renew(revision="v2")
    del cluster.objects[CLAIM]
    cluster.reconcile()
    assert not {"served", "former", "renewal"} & set(cluster.cr["status"])
    assert cluster.condition("Renewed") is None
