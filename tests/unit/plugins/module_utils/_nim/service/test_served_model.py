# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Interpretation of the model server's answers, from the socket to the status."""

from __future__ import annotations

import functools
import json
import time
from urllib.parse import urlsplit

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster import reader as observer
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadHttp
from ansible_collections.nimops.nim.plugins.module_utils._http.model_server import (
    LIMIT_BYTES,
    fetch,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.served_model import (
    MAX_ADAPTERS,
    MAX_NAME,
    Answer,
    model_reads,
    needs_model,
    read_adapters,
    read_answer,
)

AT = "10.0.0.1:8000"
MODELS, METADATA = f"http://{AT}/v1/models", f"http://{AT}/v1/metadata"
NOT_FOUND = {"status": 404, "body": "not found", "error": ""}
BASE = {"id": "meta/llama", "object": "model", "root": "meta/llama"}
LORA = {"id": "lora", "object": "model", "root": "meta/llama"}
SELF = "/apis/apps.nvidia.com/v1alpha1/namespaces/ns/nimservices/llm"
DEPLOYMENT = "/apis/apps/v1/namespaces/ns/deployments/llm"
SERVICE = "/api/v1/namespaces/ns/services/llm"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
NOT_JSON = "the answer is not a JSON object"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\r\n\u202e\u2028\ud800"
FIELDS = {
    "state", "conditions", "observedGeneration", "availableReplicas", "replicas", "selector", "model",
    "reason",
}  # fmt: skip
SECONDS = 1


def ok(body):
    return {"status": 200, "body": body if isinstance(body, str) else json.dumps(body), "error": ""}


def listed(*models):
    return ok({"object": "list", "data": models})


ANSWER_OF_MODELS = {
    "one": (listed(BASE), Answer("meta/llama")),
    "one, whatever it says": (listed({"id": "any"}), Answer("any")),
    "LoRA adapters": (listed(LORA, BASE), Answer("meta/llama")),
    "only adapters": (listed(LORA, LORA), Answer("")),
    "none": (listed(), Answer("")),
    "no list": (ok({"object": "list", "data": None}), Answer("")),
    "not a list": (ok({"object": "model"}), Answer("")),
    "list of text": (listed("text"), Answer("")),
    "id is a number": (listed({"id": 7}), Answer("")),
    "control characters": (listed({"id": "a\x1b[31m\nb\u202ec\ud800"}), Answer("a[31mbc")),
    "long name": (listed({"id": "x" * 10_000}), Answer("x" * MAX_NAME)),
    "garbage": (ok("<html>"), Answer(error=f"GET {MODELS}: the answer is not a JSON object")),
    "garbage that took long": (
        ok("<html>") | {"late": True},
        Answer(error=f"GET {MODELS}: the answer is not a JSON object", late=True),
    ),
    "array": (ok([]), Answer(error=f"GET {MODELS}: the answer is not a JSON object")),
    "nothing": (ok(""), Answer(error=f"GET {MODELS}: the answer is not a JSON object")),
    "deep": (ok("[" * 100_000), Answer(error=f"GET {MODELS}: the answer is not a JSON object")),
    "unavailable": (
        {"status": 503, "body": "x", "error": ""},
        Answer(error=f"GET {MODELS}: HTTP status 503"),
    ),
    "no connection": (
        {"status": 0, "body": "", "error": "refused"},
        Answer(error=f"GET {MODELS}: refused"),
    ),
    "not asked": (None, None),
}


@pytest.mark.parametrize(("answer", "wanted"), ANSWER_OF_MODELS.values(), ids=ANSWER_OF_MODELS)
def test_read_answer_of_models(answer, wanted):
    assert read_answer(AT, Observed({MODELS: answer} if answer else {})) == wanted


ANSWER_OF_METADATA = {
    "with version": (ok({"modelInfo": [{"shortName": "riva:1.0"}]}), Answer("riva")),
    "first": (ok({"modelInfo": [{"shortName": "riva"}, {"shortName": "b"}]}), Answer("riva")),
    "none": (ok({"modelInfo": []}), Answer("")),
    "no text": (ok({"modelInfo": [{"shortName": 1}]}), Answer("")),
    "no list": (ok({}), Answer("")),
    "not there either": (NOT_FOUND, Answer("")),
    "error": (
        {"status": 500, "body": "", "error": ""},
        Answer(error=f"GET {METADATA}: HTTP status 500"),
    ),
    "not asked yet": (None, None),
}


@pytest.mark.parametrize(("answer", "wanted"), ANSWER_OF_METADATA.values(), ids=ANSWER_OF_METADATA)
def test_read_answer_of_metadata(answer, wanted):
    answers = {MODELS: NOT_FOUND} | ({METADATA: answer} if answer else {})
    assert read_answer(AT, Observed(answers)) == wanted


def test_model_reads_after_404():
    def asked(answers):
        return [read.key for read in model_reads(AT, "ns", Observed(answers))]

    assert asked({}) == [MODELS]
    assert asked({MODELS: listed(BASE)}) == [MODELS]
    assert asked({MODELS: NOT_FOUND}) == [MODELS, METADATA]


def test_model_reads_of_url():
    asked = model_reads("https://llm.ns.svc/", "ns", Observed({}), "llm")
    assert asked == [ReadHttp("https://llm.ns.svc/v1/models", "ns", "llm")]


KNOWN = {
    "state": "Ready",
    "observedGeneration": 2,
    "model": {"name": "m", "clusterEndpoint": AT, "externalEndpoint": ""},
}


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        pytest.param(KNOWN, False, id="known"),
        pytest.param(None, True, id="new"),
        pytest.param(KNOWN | {"state": "NotReady"}, True, id="was not ready"),
        pytest.param(KNOWN | {"observedGeneration": 1}, True, id="spec changed"),
        pytest.param({"state": "Ready", "model": KNOWN["model"]}, True, id="taken over"),
        pytest.param(KNOWN | {"model": KNOWN["model"] | {"name": ""}}, True, id="no name"),
        pytest.param(
            KNOWN | {"model": KNOWN["model"] | {"clusterEndpoint": "x"}}, True, id="moved"
        ),
    ],
)
def test_needs_model(make, status, wanted):
    assert needs_model(make.app(make.cr(status=status)), AT) is wanted


@pytest.fixture
def reconcile_once(make, cluster, tmp_path, monkeypatch):
    """Run a pass for a service with ready pods, whose model server is at this URL."""
    monkeypatch.setattr(observer, "fetch", functools.partial(fetch, seconds=SECONDS))
    client = Client(cluster.kubeconfig(tmp_path))

    def run(url):
        where = urlsplit(url)
        cr = make.cr({"expose": {"service": {"port": where.port}}})
        cluster.put(DEPLOYMENT, make.rolled_out(cr))
        cluster.put(SERVICE, make.with_address(cr, where.hostname))
        resource = cluster.put(SELF, cr)
        begin = time.monotonic()
        with LiveCluster(client, "ns") as live:
            steps.report(KIND, resource, steps.observe(KIND, resource, live), Outcome(), live)
        assert time.monotonic() - begin < 2 * SECONDS + 2
        status = cluster.objects[SELF]["status"]
        assert set(status) <= FIELDS
        for text in texts_of(status):
            assert text.removesuffix("\n").isprintable(), text
            assert len(text) < 1000
        return status

    return run


def texts_of(value):
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else []:
        yield from texts_of(item)
    for item in value if isinstance(value, list) else []:
        yield from texts_of(item)


def listing(*models):
    return str(listed(*models)["body"])


def message_of(status):
    return str(status["conditions"][0]["message"])


SERVED_MODEL_NAME = {
    "list": ({"/v1/models": (200, listing(BASE))}, "meta/llama"),
    "404, then metadata": (
        {"/v1/metadata": (200, '{"modelInfo": [{"shortName": "riva:1.2"}]}')},
        "riva",
    ),
    "404 twice": ({}, ""),
    "escapes": ({"/v1/models": (200, listing({"id": f"a{ESCAPES}b"}))}, "a]0;owned[2Jb"),
    "huge name": ({"/v1/models": (200, listing({"id": "x" * 500_000}))}, "x" * MAX_NAME),
    "name is an object": ({"/v1/models": (200, listing({"id": {"state": "Failed"}}))}, ""),
    "thousands of models": ({"/v1/models": (200, listing(*[{"id": 1}] * 5000))}, ""),
    "fields of a status": (
        {"/v1/models": (200, '{"state": "Failed", "conditions": [], "object": "list"}')},
        "",
    ),
}


@pytest.mark.parametrize(("answers", "name"), SERVED_MODEL_NAME.values(), ids=SERVED_MODEL_NAME)
def test_served_model_name(reconcile_once, serve, answer, answers, name):
    server = serve(lambda request: answer(*answers.get(request.path, (404, "no such path"))))
    status = reconcile_once(server.url)
    assert status["state"] == "Ready"
    assert status["model"]["name"] == name
    asked = [request.path for request in server.requests]
    assert asked == ["/v1/models", *([] if "/v1/models" in answers else ["/v1/metadata"])]


def test_served_model_with_adapters(reconcile_once, serve, answer):
    server = serve(lambda _request: answer(200, listing(BASE, LORA)))
    model = reconcile_once(server.url)["model"]
    assert (model["name"], model["adapters"]) == ("meta/llama", ["lora"])


@pytest.mark.parametrize(
    ("path", "status", "body", "problem"),
    [
        pytest.param("/v1/models", 200, "<html>", NOT_JSON, id="garbage"),
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
def test_served_model_error(reconcile_once, serve, answer, path, status, body, problem):
    url = serve(
        lambda request: (
            answer(status, body.encode(errors="replace")) if request.path == path else answer(404)
        )
    ).url
    found = reconcile_once(url)
    assert found["state"] == "NotReady"
    assert message_of(found) == f"Waiting for the model: GET {url}{path}: {problem}"
    assert "model" not in found


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_served_model_redirect(reconcile_once, serve, answer, code):
    elsewhere = serve(lambda request: answer(200, listing(BASE)))
    headers = {"Location": f"{elsewhere.url}/latest/meta-data"}
    status = reconcile_once(serve(lambda request: answer(code, "", headers)).url)
    assert message_of(status).endswith(f": HTTP status {code}")
    assert elsewhere.requests == []


ANSWER_CASES = {
    "accepts and hangs": ([b""] * 100, 0.05, "no complete answer in time"),
    "slow headers": ([HEAD[:1], *[b"X"] * 100], 0.05, "no complete answer in time"),
    "slow body": (
        [HEAD + b"Content-Length: 1000\r\n\r\n", *[b" "] * 100], 0.05, "no complete answer in time",
    ),
    "100 MB": (
        [HEAD + b"\r\n", *[b"x" * (1 << 20)] * 100], 0.0,
        f"the answer is larger than {LIMIT_BYTES} bytes",
    ),
    "not HTTP": ([b"SSH-2.0-x\x1b[2J\r\n"], 0.0, "the answer is not HTTP"),
    "bad chunk": (
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n\x1b[2Jx\r\n"], 0.0,
        "connection closed before the end of the answer",
    ),
    "closed": ([], 0.0, "connection closed without an answer"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("chunks", "pause", "problem"),
    ANSWER_CASES.values(),
    ids=ANSWER_CASES,
)
def test_served_model_unusable_answer(reconcile_once, raw, chunks, pause, problem):
    url = raw(chunks, pause=pause)
    status = reconcile_once(url)
    assert status["state"] == "NotReady"
    assert message_of(status) == f"Waiting for the model: GET {url}: {problem}"


def test_served_model_refused_connection(reconcile_once, serve, answer):
    server = serve(lambda request: answer(200))
    server.close()
    assert message_of(reconcile_once(server.url)).endswith(": connection refused")


CHILD = {"id": "child", "object": "model", "root": "/loras/child", "parent": "meta/llama"}
ALIAS = {"id": "alias", "object": "model", "root": "/models/llama", "parent": None}


@pytest.mark.parametrize(
    ("answer", "adapters"),
    [
        pytest.param(None, None, id="not contacted"),
        pytest.param(listed(BASE), [], id="none"),
        pytest.param(listed(LORA, BASE, CHILD), ["child", "lora"], id="both forms"),
        pytest.param(listed(BASE, ALIAS), [], id="another name of the model"),
        pytest.param(listed(BASE, LORA, LORA), ["lora"], id="twice"),
        pytest.param(listed(BASE, LORA | {"id": 5}, LORA | {"id": ESCAPES}), None, id="bad names"),
        pytest.param(ok("[]"), [], id="no object"),
        pytest.param(NOT_FOUND, [], id="not found"),
    ],
)
def test_read_adapters(answer, adapters):
    observed = Observed({} if answer is None else {MODELS: answer})
    found = read_adapters(AT, observed, "meta/llama")
    if answer is not None and adapters is None:
        assert len(found or []) <= 1
        assert all(name.isprintable() for name in found or [])
    else:
        assert found == adapters


def test_read_adapters_are_bounded():
    many = [LORA | {"id": f"a{number:04}" + "x" * 400} for number in range(5000)]
    found = read_adapters(AT, Observed({MODELS: listed(BASE, *many)}), "meta/llama")
    assert len(found) == MAX_ADAPTERS
    assert max(map(len, found)) <= MAX_NAME


@pytest.mark.parametrize(("name", "wanted"), [("NIM_PEFT_SOURCE", True), ("OTHER", False)])
def test_needs_model_with_adapters(make, name, wanted):
    model = {"name": "m", "clusterEndpoint": AT, "externalEndpoint": ""}
    status = {"state": "Ready", "observedGeneration": 2, "model": model}
    cr = make.cr({"env": [{"name": name, "value": "/model-store/loras"}]}, status)
    assert needs_model(make.app(cr), AT) is wanted
