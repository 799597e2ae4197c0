# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reconciles without an operator, on an API server of objects."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.writer import carry_out
from ansible_collections.nimops.nim.plugins.module_utils._verbs import rollout as rollouts
from ansible_collections.nimops.nim.plugins.module_utils._verbs.cluster import (
    list_resources,
    preview,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.rollout import (
    pass_over,
    roll_out,
    submit,
)

SERVICE = api_path("NIMService", "nim", "llm")
PODS = api_path("Deployment", "nim", "llm")
ROLLED_OUT = {
    "observedGeneration": 0,
    "replicas": 1,
    "updatedReplicas": 1,
    "availableReplicas": 1,
    "readyReplicas": 1,
}


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(rollouts, "_PAUSES", (0,))


@pytest.fixture
def model(serve, answer):
    """A server that says which model it has."""
    listed = {"object": "list", "data": [{"id": "acme/llm", "object": "model"}]}
    return serve(lambda _request: answer(200, listed))


def start_pods(cluster, address):
    """What the controllers of a cluster do."""
    cluster.objects[PODS]["status"] = ROLLED_OUT
    host, port = address.split(":")
    service = cluster.objects[api_path("Service", "nim", "llm")]
    service["spec"]["clusterIP"] = host
    return int(port)


def test_until_ready(cluster, client, model, make_service):
    port = int(model.host.split(":")[1])
    service = make_service(expose={"service": {"port": port}})
    rollout, said = submit(client, [service]), []

    def say(text):
        said.append(text)
        if len(said) == 1:
            start_pods(cluster, model.host)

    roll_out(client, rollout, 60, say)
    assert rollout.unready() == []
    assert rollout.wrote == 6  # the resource and its five children
    assert said[0].startswith("NIMService nim/llm: NotReady: ")
    assert said[-1].startswith("NIMService nim/llm: Ready")
    assert cluster.objects[SERVICE]["status"]["model"]["name"] == "acme/llm"

    again = submit(client, [service])
    requests = len(cluster.calls("PATCH"))
    roll_out(client, again, 60, say)
    assert [call.path for call in cluster.calls("PATCH")[requests:]] == []


def test_a_model_behind_the_api_server(cluster, client, make_service, answer, monkeypatch):
    """From outside of a cluster its Services cannot be reached."""
    refused = {"status": 0, "body": "", "error": "timed out"}
    monkeypatch.setattr(rollouts, "answer", _but_for_http(refused))
    rollout = submit(client, [make_service()])
    pass_over(client, rollout, lambda _text: None)
    start_pods(cluster, "10.0.0.1:8000")
    proxied = f"{api_path('Service', 'nim', 'llm')}/proxy/v1/models"
    listed = {"object": "list", "data": [{"id": "acme/far", "object": "model"}]}
    cluster.refuse["GET", proxied] = [answer(200, listed)]
    roll_out(client, rollout, 60, lambda _text: None)
    assert cluster.objects[SERVICE]["status"]["model"]["name"] == "acme/far"


def _but_for_http(said):
    ask = rollouts.answer

    def answer(client, read):
        return said if read.how == "http" else ask(client, read)

    return answer


def test_time_is_up(client, make_service):
    rollout = submit(client, [make_service()])
    with pytest.raises(NimError, match=r"^not Ready after 0 s: NIMService nim/llm: NotReady: "):
        roll_out(client, rollout, 0, lambda _text: None)


def test_what_has_failed_is_not_waited_for(client, make_service):
    bad = make_service(storage={})
    rollout = submit(client, [bad])
    with pytest.raises(NimError, match=r"^failed: NIMService nim/llm: Failed: neither external"):
        roll_out(client, rollout, 60, lambda _text: None)


def test_who_deletes_a_resource_ends_the_wait(cluster, client, make_service):
    rollout = submit(client, [make_service()])
    cluster.objects.clear()
    with pytest.raises(NimError, match="NIMService nim/llm was deleted by somebody else"):
        roll_out(client, rollout, 60, lambda _text: None)


REFUSED = {
    "a rule": (422, 'NIMService "llm" is invalid: spec.x', 'NIMService llm: NIMService "llm" is'),
    "no rights": (403, "forbidden: no", "NIMService llm: forbidden: no"),
    "no kind": (404, "the server could not find the requested resource", "the cluster does not kn"),
    "no namespace": (404, 'namespaces "nim" not found', 'NIMService llm: namespaces "nim" not fo'),
}


@pytest.mark.parametrize(("code", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_the_api_server_refuses(cluster, client, make_service, refused, code, text, message):
    cluster.refuse["PATCH", SERVICE] = [refused(code, text)]
    with pytest.raises(NimError) as caught:
        submit(client, [make_service()])
    assert str(caught.value).startswith(message)


def test_no_answer_is_no_refusal(make_service, tmp_path, kubeconfig_text):
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text("http://127.0.0.1:9"))
    with pytest.raises(ApiError, match="cannot be reached"):
        submit(Client(str(path)), [make_service()])


def test_refused_children_do_not_stop_the_rest(cluster, client, refused):
    def named(name):
        metadata = {"name": name, "namespace": "nim"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    cluster.refuse["PATCH", api_path("ConfigMap", "nim", "a")] = [refused(403, "forbidden")]
    cluster.put(api_path("ConfigMap", "nim", "c"), named("c"))
    plan = {
        "apply": [named("a"), named("b")],
        "adopt": [],
        "prune": [named("c"), named("d")],
        "refusals": [],
        "failure": "",
        "failure_reason": "",
    }
    outcome = carry_out(client, plan)
    assert [(item.name, item.message) for item in outcome.refusals] == [("a", "forbidden")]
    assert list(outcome.written) == ["ConfigMap/b"]
    assert outcome.deleted == ["ConfigMap/c", "ConfigMap/d"]


def test_a_kind_that_is_not_served(cluster, client, answer):
    manifest = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "a", "namespace": "nim"},
    }
    path = api_path("ServiceMonitor", "nim", "a")
    cluster.refuse["PATCH", path] = [answer(404, "404 page not found\n")]
    plan = {"apply": [manifest], "adopt": [], "prune": [], "refusals": []}
    outcome = carry_out(client, plan | {"failure": "", "failure_reason": ""})
    assert outcome.refusals[0].message == (
        'no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"'
    )


def test_a_preview_writes_nothing(cluster, client, make_service, answer):
    pass_over(client, submit(client, [make_service()]), lambda _text: None)
    before = {path: item["metadata"]["resourceVersion"] for path, item in cluster.objects.items()}
    service = make_service(replicas=2)
    dry = answer(200, {**cluster.objects[SERVICE], "spec": service["spec"]})
    cluster.refuse["PATCH", SERVICE] = [dry]
    found = preview(client, [service])
    assert [change.key[0] for change in found.changes] == ["NIMService", "Deployment"]
    after = {path: item["metadata"]["resourceVersion"] for path, item in cluster.objects.items()}
    assert after == before
    assert cluster.calls("PATCH")[-1].query["dryRun"] == "All"


def test_who_may_not_write_gets_a_plan(cluster, client, make_service, refused):
    given = make_service()
    del given["spec"]["inferencePlatform"]
    cluster.refuse["PATCH", SERVICE] = [refused(403, "forbidden")]
    found = preview(client, [given])
    assert [change.action for change in found.changes] == ["create"] * 6
    assert found.changes[0].after["spec"]["inferencePlatform"] == "standalone"


def test_what_is_there_is_planned_as_it_is(cluster, client, make_service):
    pass_over(client, submit(client, [make_service()]), lambda _text: None)
    del cluster.objects[PODS]
    resources = list_resources(client, "")
    assert [item["kind"] for item in resources] == ["NIMService"]
    found = preview(client, resources, is_given=False)
    assert [change.key for change in found.changes] == [("Deployment", "nim", "llm")]
    assert list_resources(client, "other") == []
