# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The simulated models, even if the watch fails."""

from __future__ import annotations

import http.client
import json
import os
import runpy
import socket
import threading
import typing as t
from pathlib import Path

import model_server
import pytest
from model_server import Models, follow_services
from nimops_sandbox.settings import SANDBOX

A = ("127.96.0.1", 8000)
B = ("127.96.0.2", 8000)
GONE = {
    "type": "ERROR",
    "object": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"},
}


class FakeServer:
    """A stand-in that does not listen."""

    mode = model = ""

    def __init__(self, address: t.Any, _: object) -> None:
        self.address = address
        self._file = os.eventfd(0)

    def fileno(self) -> int:
        return self._file

    def server_close(self) -> None:
        os.close(self._file)


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    monkeypatch.setattr(model_server, "_Server", FakeServer)
    return Models("acme/tiny-llm")


def service(address: str, mode: str = "models") -> dict[str, t.Any]:
    return {
        "kind": "Service",
        "metadata": {"annotations": {"sandbox.nimops/model": mode}},
        "spec": {"clusterIP": address, "ports": [{"name": "api", "port": 8000}]},
    }


def event(kind: str, address: str = A[0], mode: str = "models") -> dict[str, t.Any]:
    return {"type": kind, "object": service(address, mode)}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event("ADDED"), event("ADDED", B[0])], {A, B}),
        ([event("ADDED"), event("DELETED")], set()),
        ([event("ADDED"), event("MODIFIED", mode="off")], set()),
        ([event("ADDED"), GONE], {A}),
        ([GONE, event("ADDED")], {A}),
        ([event("ADDED"), {"type": "BOOKMARK", "object": {"metadata": {}}}], {A}),
        ([event("ADDED", "None")], set()),
        ([event("ADDED", "10.0.0.1")], set()),
    ],
    ids=[
        "added", "deleted", "turned-off", "error-last", "error-first", "bookmark", "headless",
        "not-loopback",
    ],
)  # fmt: skip
def test_follow(models: Models, events: list[t.Any], expected: set[t.Any]) -> None:
    for each in events:
        models.follow(each)
    assert models.addresses() == expected


def test_follow_name_and_mode(models: Models) -> None:
    """Annotations choose the model and its answer; without them, the options of the program."""
    models._mode = "off"
    at = service(A[0], "rerank")
    at["metadata"]["annotations"]["sandbox.nimops/model-name"] = "acme/other"
    models.follow({"type": "ADDED", "object": at})
    assert (models._servers[A].mode, models._servers[A].model) == ("rerank", "acme/other")
    del at["metadata"]["annotations"]
    models.follow({"type": "MODIFIED", "object": at})
    assert models.addresses() == set()


def test_names(models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Service of KServe has port 80, which only an administrator may listen on."""
    models._names = tmp_path / "names"
    at = service(A[0])
    at["metadata"] |= {"namespace": "nim", "name": "llm-predictor"}
    at["spec"]["ports"] = [{"name": "api", "port": 80, "targetPort": 8000}]
    models.follow({"type": "ADDED", "object": at})
    assert models.addresses() == {A}
    names = json.loads(models._names.read_text())
    monkeypatch.setattr(socket, "getaddrinfo", socket.getaddrinfo)  # the file replaces it
    find = runpy.run_path(str(SANDBOX / "dns/sitecustomize.py"))["find"]
    host = "llm-predictor.nim.svc.cluster.local"
    assert find(names, host, 80) == find(names, "llm-predictor.nim.svc", 80) == [*A]
    assert find(names, host, 81) == [host, 81]
    assert find(names, "other.nim.svc", 80) == ["other.nim.svc", 80]


@pytest.mark.parametrize(("kind", "is_served"), [("Private", True), ("Public", False)])
def test_services_of_knative(models: Models, kind: str, is_served: bool) -> None:
    at = service(A[0])
    at["metadata"]["labels"] = {"networking.internal.knative.dev/serviceType": kind}
    at["spec"]["ports"] = [{"name": "http", "port": 80, "targetPort": 8000}]
    models.follow({"type": "ADDED", "object": at})
    assert models.addresses() == ({A} if is_served else set())


@pytest.mark.parametrize("is_target_first", [True, False])
def test_names_of_targets(models: Models, tmp_path: Path, is_target_first: bool) -> None:
    """The route of Knative leads to a gateway."""
    models._names = tmp_path / "names"
    gateway, route = service(A[0]), service("")
    gateway["metadata"] |= {"namespace": "knative-serving", "name": "gateway"}
    route["metadata"] |= {"namespace": "nim", "name": "llm-predictor"}
    route["spec"] = {"externalName": "gateway.knative-serving.svc.cluster.local", "ports": []}
    services = [gateway, route] if is_target_first else [route, gateway]
    models.replace(services)
    names = json.loads(models._names.read_text())
    assert names["llm-predictor.nim.svc"] == {"8000": [*A]}
    assert models.addresses() == {A}


def test_replace_stops_missed_services(models: Models) -> None:
    models.follow(event("ADDED"))
    models.replace([service(B[0])])
    assert models.addresses() == {B}


class Cluster:
    """A scripted cluster for lists and watches, which exists until the script ends."""

    def __init__(self, lists: list[t.Any], watches: list[list[t.Any]]) -> None:
        self.lists, self.watches = lists, watches
        self.slept: list[float] = []

    def exists(self) -> bool:
        return bool(self.lists)

    def list(self) -> list[t.Any] | None:
        return t.cast("list[t.Any] | None", self.lists.pop(0))

    def watch(self) -> t.Iterator[t.Any]:
        yield from self.watches.pop(0)


@pytest.mark.parametrize(
    ("lists", "watches", "expected", "slept"),
    [
        ([[], []], [[event("ADDED"), GONE], [event("ADDED", B[0])]], {B}, [0.5, 0.5]),
        ([[], None, None, [service(A[0])]], [[], []], {A}, [0.5, 1.0, 2.0, 0.5]),
        ([None] * 6, [], set(), [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]),
    ],
    ids=["watch-ended", "api-server-away", "longer-and-longer"],
)
def test_follow_services_restart(
    models: Models, lists: t.Any, watches: t.Any, expected: set[t.Any], slept: list[float]
) -> None:
    cluster = Cluster(lists, watches)
    follow_services(models, cluster.exists, cluster.list, cluster.watch, cluster.slept.append)
    assert models.addresses() == expected
    assert cluster.slept == slept


@pytest.mark.parametrize(
    ("present", "environment", "expected"),
    [
        (["a"], {"KUBECONFIG": "{tmp}/a"}, True),
        ([], {"KUBECONFIG": "{tmp}/a"}, False),
        (["b"], {"KUBECONFIG": "{tmp}/a:{tmp}/b"}, True),
        ([".kube/config"], {"HOME": "{tmp}"}, True),
        ([], {"HOME": "{tmp}"}, False),
    ],
    ids=["there", "gone", "second-of-two", "default", "no-default"],
)
def test_has_cluster(
    tmp_path: t.Any, present: list[str], environment: dict[str, str], expected: bool
) -> None:
    for name in present:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    filled = {key: value.format(tmp=tmp_path) for key, value in environment.items()}
    assert model_server.has_cluster(filled) is expected


CHAT, MODEL = "/v1/chat/completions", "acme/tiny-llm"
PASSAGES = [{"text": "a dog"}, {"text": "the cat sleeps"}]
QUESTIONS: dict[str, tuple[str, str, dict[str, t.Any], int, str]] = {
    "chat": ("models", CHAT, {}, 200, '"message": {"content": "This is a simulated answer of'),
    "stream": ("models", CHAT, {"stream": True}, 200, '"delta": {"content": "This "}'),
    "completion": ("models", "/v1/completions", {}, 200, '"text": "This is a simulated answer of'),
    "no embedding": ("models", "/v1/embeddings", {}, 404, "Not Found"),
    "embedding": ("embedding", "/v1/embeddings", {}, 200, '"embedding": [0.25, -0.5, 0.125, 1.0]'),
    "no chat": ("embedding", CHAT, {}, 404, "Not Found"),
    "rerank": (
        "rerank",
        "/v1/ranking",
        {"query": {"text": "where is the cat"}, "passages": PASSAGES},
        200,
        '[{"index": 1, "logit": 2.0}, {"index": 0, "logit": 0.0}]',
    ),
    "another model": ("models", CHAT, {"model": "x"}, 404, "does not exist"),
    "loading": ("error", CHAT, {}, 503, "loading"),
}


@pytest.mark.parametrize(
    ("mode", "path", "question", "status", "text"), QUESTIONS.values(), ids=QUESTIONS
)
def test_answer_to_question(
    mode: str, path: str, question: dict[str, t.Any], status: int, text: str
) -> None:
    found = model_server.answer_to(mode, path, MODEL, {"model": MODEL, **question})
    assert found[0] == status
    assert text in found[1].decode()


@pytest.mark.parametrize(
    ("uri", "status"),
    [
        ("/api/v1/namespaces/nim/services/llm:8000/proxy/v1/models", 200),
        ("/api/v1/namespaces/nim/services/http:llm:api/proxy/v1/models", 200),
        ("/api/v1/namespaces/nim/services/llm/proxy/v1/models", 200),
        ("/api/v1/namespaces/nim/services/other:8000/proxy/v1/models", 502),
        ("/api/v1/namespaces/nim/pods/llm/proxy/v1/models", 502),
    ],
)
def test_forward(uri: str, status: int) -> None:
    """The API server keeps the client's host, so a header names the Service."""
    found = {("nim", "llm"): model_server._Server(("127.0.0.1", 0), model_server._Handler)}
    with (
        model_server._Proxy(("127.0.0.1", 0), model_server._Forward) as proxy,
        found["nim", "llm"],
    ):
        proxy.find = lambda *name: found.get(name)
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", proxy.server_port, timeout=10)
        try:
            url = "http://127.0.0.1:26443/v1/models"
            connection.request("GET", url, headers={"X-Forwarded-Uri": uri})
            assert connection.getresponse().status == status
        finally:
            connection.close()
            proxy.shutdown()
            thread.join()


def hang() -> tuple[Models, dict[str, t.Any], int]:
    """Models with one server that does not answer; its Service and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    models = Models("acme/tiny-llm")
    at = service("127.0.0.1", "hang")
    at["spec"]["ports"][0]["port"] = port
    models.follow({"type": "ADDED", "object": at})
    return models, at, port


def test_hanging_server_recovers() -> None:
    models, at, port = hang()
    with pytest.raises(TimeoutError):
        ask(port, 0.2)
    at["metadata"]["annotations"] = {}
    models.follow({"type": "MODIFIED", "object": at})
    assert b"acme/tiny-llm" in ask(port, 10)
    models.replace([])
    with pytest.raises(ConnectionRefusedError):
        ask(port, 10)


def test_hanging_server_counts_questions() -> None:
    models, _at, port = hang()
    running = b'vllm:num_requests_running{model_name="acme/tiny-llm"}'
    assert running + b" 0\n" in ask(port, 10, "/v1/metrics")
    for _number in range(2):
        with pytest.raises(TimeoutError):
            ask(port, 0.2, "/v1/chat/completions", "{}")
    assert running + b" 2\n" in ask(port, 10, "/v1/metrics")
    models.replace([])


def ask(port: int, seconds: float, path: str = "/v1/models", question: str | None = None) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("POST" if question else "GET", path, question)
        return connection.getresponse().read()
    finally:
        connection.close()
