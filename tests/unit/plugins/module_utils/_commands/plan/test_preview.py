# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plans against an in-memory API server."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import (
    list_children,
    list_resources,
    preview,
    remember,
    submit_dry_run,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import (
    refused as refusal_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadObject

SERVICE = api_path("NIMService", "nim", "llm")
PODS = api_path("Deployment", "nim", "llm")


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


def test_preview_writes_nothing(cluster, client, make_service, answer):
    reconcile_once(client, submit(client, [make_service()]), lambda _text: None)
    before = {path: item["metadata"]["resourceVersion"] for path, item in cluster.objects.items()}
    service = make_service(replicas=2)
    dry = answer(200, {**cluster.objects[SERVICE], "spec": service["spec"]})
    cluster.refuse["PATCH", SERVICE] = [dry]
    found = preview(client, [service])
    assert [change.key[0] for change in found.changes] == ["NIMService", "Deployment"]
    after = {path: item["metadata"]["resourceVersion"] for path, item in cluster.objects.items()}
    assert after == before
    assert cluster.calls("PATCH")[-1].query["dryRun"] == "All"


def test_preview_without_write_permission(cluster, client, make_service, refused):
    given = make_service()
    del given["spec"]["inferencePlatform"]
    cluster.refuse["PATCH", SERVICE] = [refused(403, "forbidden")]
    found = preview(client, [given])
    assert [change.action for change in found.changes] == ["create"] * 4
    assert found.changes[0].after["spec"]["inferencePlatform"] == "standalone"


def test_preview_live_resources(cluster, client, make_service):
    reconcile_once(client, submit(client, [make_service()]), lambda _text: None)
    del cluster.objects[PODS]
    resources = list_resources(client, "")
    assert [item["kind"] for item in resources] == ["NIMService"]
    found = preview(client, resources, is_given=False)
    assert [change.key for change in found.changes] == [("Deployment", "nim", "llm")]
    assert list_resources(client, "other") == []


def test_submit_dry_run_new(cluster, client, make_service, answer):
    service = make_service()
    dry = {**service, "metadata": {**service["metadata"], "uid": "u-dry"}}
    cluster.refuse["PATCH", SERVICE] = [answer(200, dry)]
    assert "uid" not in submit_dry_run(client, service)["metadata"]


def test_submit_dry_run_live(cluster, client, make_service, refused):
    live = cluster.put(SERVICE, make_service() | {"status": {"state": "Ready"}})
    cluster.refuse["PATCH", SERVICE] = [refused(403, "forbidden")]
    found = submit_dry_run(client, make_service(replicas=2))
    assert found["metadata"]["uid"] == live["metadata"]["uid"]
    assert (found["status"], found["spec"]["replicas"]) == ({"state": "Ready"}, 2)


def test_submit_dry_run_missing_namespace(cluster, client, make_service, refused):
    cluster.refuse["PATCH", SERVICE] = [refused(404, 'namespaces "nim" not found')]
    assert submit_dry_run(client, make_service())["spec"]["replicas"] == 1


def test_submit_dry_run_invalid(cluster, client, make_service, refused):
    cluster.refuse["PATCH", SERVICE] = [refused(422, "spec.x: Required value")]
    with pytest.raises(NimError, match=r"NIMService llm: spec\.x"):
        submit_dry_run(client, make_service())


@pytest.mark.parametrize(
    ("status", "text", "message"),
    [
        pytest.param(422, "is invalid", "NIMService llm: is invalid", id="a rule"),
        pytest.param(404, "not found", "nimops.nim.install", id="no such kind"),
        pytest.param(
            404, 'namespaces "nim" not found', "NIMService llm: namesp", id="no namespace"
        ),
    ],
)
def test_refused_advice(make_service, status, text, message):
    found = refusal_of(make_service(), ApiError(status, text))
    assert isinstance(found, NimError)
    assert message in str(found)


def test_submit_dry_run_no_answer(make_service):
    error = ApiError(0, "cannot be reached")
    assert refusal_of(make_service(), error) is error


def test_remember():
    asked = []
    ask = remember(asked.append)
    reads = [ReadObject("Pod", "nim", name) for name in ("a", "b", "a")]
    for read in reads:
        ask(read)
    assert asked == reads[:2]


def test_list_children(cluster, client):
    labels = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
    cluster.put(
        "/api/v1/namespaces/nim/configmaps/c", {"metadata": {"name": "c", "labels": labels}}
    )
    cluster.put("/api/v1/namespaces/nim/configmaps/d", {"metadata": {"name": "d"}})
    (found,) = list_children(client, ["ConfigMap"], "nim")
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")
    assert cluster.calls("GET")[-1].query["labelSelector"] == (
        "app.kubernetes.io/managed-by=k8s-nim-operator"
    )


def test_list_resources_without_cluster_scope(cluster, client, answer):
    policies = api_path("ClusterPolicy", "")
    cluster.put(f"{policies}/gpu", {"metadata": {"name": "gpu"}})
    assert list_resources(client, "nim") == []
    assert [item["kind"] for item in list_resources(client, "")] == ["ClusterPolicy"]
    cluster.refuse["GET", policies] = [answer(403, {"message": "forbidden"})]
    assert list_resources(client, "") == []
    cluster.refuse["GET", policies] = [answer(500, {"message": "broken"})]
    with pytest.raises(ApiError, match="broken"):
        list_resources(client, "")
    cluster.refuse["GET", api_path("NIMService", "")] = [answer(403, {"message": "forbidden"})]
    with pytest.raises(ApiError, match="forbidden"):
        list_resources(client, "")
