# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reconciles without an operator, on an in-memory API server."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster import reader
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply import apply as rollouts
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
    wait_until_ready,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

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
    """A server that returns the name of its model."""
    listed = {"object": "list", "data": [{"id": "acme/llm", "object": "model"}]}
    return serve(lambda _request: answer(200, listed))


def start_pods(cluster, address):
    """Simulates the controllers of a cluster."""
    cluster.objects[PODS]["status"] = ROLLED_OUT
    host, port = address.split(":")
    service = cluster.objects[api_path("Service", "nim", "llm")]
    service["spec"]["clusterIP"] = host
    return int(port)


def test_wait_until_ready(cluster, client, model, make_service):
    port = int(model.host.split(":")[1])
    service = make_service(expose={"service": {"port": port}})
    run, messages = submit(client, [service]), []

    def notify(text):
        messages.append(text)
        if len(messages) == 1:
            start_pods(cluster, model.host)

    wait_until_ready(client, run, 60, notify)
    assert run.unready() == []
    assert run.wrote == 4  # the resource and its three children
    assert messages[0].startswith("NIMService nim/llm: NotReady: ")
    assert messages[-1].startswith("NIMService nim/llm: Ready")
    assert cluster.objects[SERVICE]["status"]["model"]["name"] == "acme/llm"

    again = submit(client, [service])
    requests = len(cluster.calls("PATCH"))
    wait_until_ready(client, again, 60, notify)
    assert [call.path for call in cluster.calls("PATCH")[requests:]] == []


def test_fetch_through_api_server(cluster, client, make_service, answer, monkeypatch):
    """Services cannot be reached from outside a cluster."""
    refused = {"status": 0, "body": "", "error": "timed out"}
    monkeypatch.setattr(reader, "fetch", lambda _url, **_options: refused)
    run = submit(client, [make_service()])
    reconcile_once(client, run, lambda _text: None)
    start_pods(cluster, "10.0.0.1:8000")
    proxied = f"{api_path('Service', 'nim', 'llm')}/proxy/v1/models"
    listed = {"object": "list", "data": [{"id": "acme/far", "object": "model"}]}
    cluster.refuse["GET", proxied] = [answer(200, listed)]
    wait_until_ready(client, run, 60, lambda _text: None)
    assert cluster.objects[SERVICE]["status"]["model"]["name"] == "acme/far"


def test_wait_until_ready_timeout(client, make_service):
    run = submit(client, [make_service()])
    with pytest.raises(NimError, match=r"^not Ready after 0 s: NIMService nim/llm: NotReady: "):
        wait_until_ready(client, run, 0, lambda _text: None)


def test_wait_until_ready_failed(client, make_service):
    bad = make_service(storage={})
    run = submit(client, [bad])
    with pytest.raises(NimError, match=r"^failed: NIMService nim/llm: Failed: neither external"):
        wait_until_ready(client, run, 60, lambda _text: None)


def test_wait_until_ready_paused(cluster, client, make_service):
    service = make_service()
    service["metadata"]["annotations"] = {"nimops.nim/paused": "true"}
    run, messages = submit(client, [service]), []
    wait_until_ready(client, run, 60, messages.append)
    assert messages[0].startswith("NIMService nim/llm: Paused: the annotation nimops.nim/paused")
    assert PODS not in cluster.objects


def test_wait_until_ready_deleted(cluster, client, make_service):
    run = submit(client, [make_service()])
    cluster.objects.clear()
    with pytest.raises(NimError, match="NIMService nim/llm was deleted by another client"):
        wait_until_ready(client, run, 60, lambda _text: None)


REFUSED = {
    "a rule": (422, 'NIMService "llm" is invalid: spec.x', 'NIMService llm: NIMService "llm" is'),
    "no rights": (403, "forbidden: no", "NIMService llm: forbidden: no"),
    "no kind": (404, "the server could not find the requested resource", "the cluster does not kn"),
    "no namespace": (404, 'namespaces "nim" not found', 'NIMService llm: namespaces "nim" not fo'),
}


@pytest.mark.parametrize(("code", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_submit_refused(cluster, client, make_service, refused, code, text, message):
    cluster.refuse["PATCH", SERVICE] = [refused(code, text)]
    with pytest.raises(NimError) as caught:
        submit(client, [make_service()])
    assert str(caught.value).startswith(message)


def test_submit_unreachable(make_service, tmp_path, kubeconfig_text):
    path = tmp_path / "kubeconfig"
    path.write_text(kubeconfig_text("http://127.0.0.1:9"))
    with pytest.raises(ApiError, match="cannot be reached"):
        submit(Client(str(path)), [make_service()])
