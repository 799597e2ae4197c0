# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a real HTTP server may answer, from the socket to the status that is written."""

from __future__ import annotations

import functools
import json
import time
import typing as t
from urllib.parse import urlsplit

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._k8s import fetch as fetch_module
from ansible_collections.nimops.nim.plugins.module_utils._k8s import observer
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.fetch import LIMIT_BYTES, fetch
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import report
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.model import MAX_NAME

SELF = "/apis/apps.nvidia.com/v1alpha1/namespaces/ns/nimservices/llm"
DEPLOYMENT = "/apis/apps/v1/namespaces/ns/deployments/llm"
SERVICE = "/api/v1/namespaces/ns/services/llm"
BASE = {"id": "meta/llama", "object": "model", "root": "meta/llama"}
LORA = {"id": "lora", "object": "model", "root": "meta/llama"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NOT_JSON = "the answer is not a JSON object"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\r\n\u202e\u2028\ud800"
FIELDS = {"state", "conditions", "observedGeneration", "availableReplicas", "model"}
SECONDS = 0.4


def listed(*models: t.Any) -> str:
    return json.dumps({"object": "list", "data": models})


@pytest.fixture
def pass_over(make: t.Any, cluster: t.Any, tmp_path: t.Any, monkeypatch: t.Any) -> t.Any:
    """One pass over a service whose pods are ready and whose model server is at this URL."""
    monkeypatch.setattr(observer, "fetch", functools.partial(fetch, seconds=SECONDS))
    client = Client(cluster.kubeconfig(tmp_path))

    def run(url: str) -> t.Any:
        where = urlsplit(url)
        cr = make.cr({"expose": {"service": {"port": where.port}}})
        cluster.put(DEPLOYMENT, make.rolled_out(cr))
        cluster.put(SERVICE, make.with_address(cr, where.hostname))
        resource = cluster.put(SELF, cr)
        begin = time.monotonic()
        report(client, resource, observer.observe(client, resource), Outcome(), dry=False)
        assert time.monotonic() - begin < 2 * SECONDS + 2
        status = cluster.objects[SELF]["status"]
        assert set(status) <= FIELDS
        for text in texts_of(status):
            assert text.removesuffix("\n").isprintable(), text
            assert len(text) < 1000
        return status

    return run


def texts_of(value: t.Any) -> t.Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else []:
        yield from texts_of(item)
    for item in value if isinstance(value, list) else []:
        yield from texts_of(item)


def message_of(status: t.Any) -> str:
    return str(status["conditions"][0]["message"])


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        pytest.param({"/v1/models": (200, listed(BASE))}, "meta/llama", id="list"),
        pytest.param({"/v1/models": (200, listed(LORA, BASE, LORA))}, "meta/llama", id="LoRA"),
        pytest.param({"/v1/models": (200, listed(LORA, LORA))}, "", id="only adapters"),
        pytest.param({"/v1/models": (200, listed())}, "", id="empty list"),
        pytest.param({"/v1/models": (200, "{}")}, "", id="no list"),
        pytest.param(
            {"/v1/metadata": (200, '{"modelInfo": [{"shortName": "riva:1.2"}]}')},
            "riva",
            id="404, then metadata",
        ),
        pytest.param({"/v1/metadata": (200, '{"modelInfo": []}')}, "", id="404, then nothing"),
        pytest.param({}, "", id="404 twice"),
        pytest.param(
            {"/v1/models": (200, listed({"id": f"a{ESCAPES}b"}))}, "a]0;owned[2Jb", id="escapes"
        ),
        pytest.param(
            {"/v1/models": (200, listed({"id": "x" * 500_000}))}, "x" * MAX_NAME, id="huge name"
        ),
        pytest.param(
            {"/v1/models": (200, listed({"id": {"state": "Failed"}}))}, "", id="name is an object"
        ),
        pytest.param(
            {"/v1/models": (200, listed(*[{"id": 1}] * 5000))}, "", id="thousands of models"
        ),
        pytest.param(
            {"/v1/models": (200, '{"state": "Failed", "conditions": [], "object": "list"}')},
            "",
            id="fields of a status",
        ),
    ],
)
def test_ready_with_a_name(
    pass_over: t.Any, serve: t.Any, answer: t.Any, answers: t.Any, name: str
) -> None:
    server = serve(lambda request: answer(*answers.get(request.path, (404, "no such path"))))
    status = pass_over(server.url)
    assert status["state"] == "Ready"
    assert status["model"]["name"] == name
    asked = [request.path for request in server.requests]
    assert asked == ["/v1/models", *([] if "/v1/models" in answers else ["/v1/metadata"])]


@pytest.mark.parametrize(
    ("path", "status", "body", "said"),
    [
        pytest.param("/v1/models", 200, "<html>", NOT_JSON, id="garbage"),
        pytest.param("/v1/models", 200, "", NOT_JSON, id="nothing"),
        pytest.param("/v1/models", 200, "[1]", NOT_JSON, id="another type"),
        pytest.param("/v1/models", 200, '{"a":' * 180_000, NOT_JSON, id="deep, unfinished"),
        pytest.param(
            "/v1/models",
            200,
            '{"object": "list", "data": ' + "[" * 400_000 + "]" * 400_000 + "}",
            NOT_JSON,
            id="deep",
        ),
        pytest.param("/v1/models", 200, '{"a": %s}' % ("9" * 9999), NOT_JSON, id="huge number"),
        pytest.param("/v1/models", 500, ESCAPES, "HTTP status 500", id="error, with escapes"),
        pytest.param("/v1/models", 401, "who?", "HTTP status 401", id="not allowed"),
        pytest.param("/v1/metadata", 503, "x", "HTTP status 503", id="404, then an error"),
        pytest.param("/v1/metadata", 200, "x", NOT_JSON, id="404, then garbage"),
    ],
)
def test_not_ready_and_why(
    pass_over: t.Any, serve: t.Any, answer: t.Any, path: str, status: int, body: str, said: str
) -> None:
    url = serve(
        lambda request: (
            answer(status, body.encode(errors="replace")) if request.path == path else answer(404)
        )
    ).url
    found = pass_over(url)
    assert found["state"] == "NotReady"
    assert message_of(found) == f"Waiting for the model: GET {url}{path}: {said}"
    assert "model" not in found


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(
    pass_over: t.Any, serve: t.Any, answer: t.Any, code: int
) -> None:
    elsewhere = serve(lambda request: answer(200, listed(BASE)))
    headers = {"Location": f"{elsewhere.url}/latest/meta-data"}
    status = pass_over(serve(lambda request: answer(code, "", headers)).url)
    assert message_of(status).endswith(f": HTTP status {code}")
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    ("chunks", "pause", "said"),
    [
        pytest.param([b""] * 100, 0.05, "no complete answer in time", id="accepts and hangs"),
        pytest.param(
            [HEAD[:1], *[b"X"] * 100], 0.05, "no complete answer in time", id="slow headers"
        ),
        pytest.param(
            [HEAD + b"Content-Length: 1000\r\n\r\n", *[b" "] * 100],
            0.05,
            "no complete answer in time",
            id="slow body",
        ),
        pytest.param(
            [HEAD + b"\r\n", *[b"x" * (1 << 20)] * 100],
            0.0,
            f"the answer is larger than {LIMIT_BYTES} bytes",
            id="100 MB",
        ),
        pytest.param([b"SSH-2.0-x\x1b[2J\r\n"], 0.0, "the answer is not HTTP", id="not HTTP"),
        pytest.param(
            [HEAD + b"Transfer-Encoding: chunked\r\n\r\n\x1b[2Jx\r\n"],
            0.0,
            "connection closed before the end of the answer",
            id="bad chunk",
        ),
        pytest.param([], 0.0, "connection closed without an answer", id="closed"),
    ],
)
def test_what_is_no_answer(
    pass_over: t.Any, raw: t.Any, chunks: t.Any, pause: t.Any, said: str
) -> None:
    url = raw(chunks, pause=pause)
    status = pass_over(url)
    assert status["state"] == "NotReady"
    assert message_of(status) == f"Waiting for the model: GET {url}: {said}"


def test_refused(pass_over: t.Any, serve: t.Any, answer: t.Any) -> None:
    server = serve(lambda request: answer(200))
    server.close()
    assert message_of(pass_over(server.url)).endswith(": connection refused")


def test_a_pass_waits_ten_seconds_at_most() -> None:
    """Two calls, the second after a 404: the bound is what holds a worker of the operator."""
    assert fetch_module.LIMIT_SECONDS <= 5
