# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask import command

CHAT = "/v1/chat/completions"
STALLED = {"type": "Stalled", "status": "True", "reason": "PullFailed", "message": "fix \x1b[2Jit"}


def test_ask_through_api_server(harness, nim, make_words):
    nim.add_stream(CHAT, *make_words("Pa", "ris\x1b[2J", tokens=2))
    result = harness.ask(prompt="Capital of France?", max_tokens=5)
    assert (result["exit_code"], result.get("failed")) == (0, None)
    assert harness.data == ["Paris"]
    assert harness.messages[:2] == ["models: acme/llm", "asking acme/llm"]
    assert harness.messages[2].startswith("chat: time to first token 0.")
    (post,) = [request for request in harness.asked if request.method == "POST"]
    assert post.body["messages"][0]["content"] == "Capital of France?"
    assert post.body["max_tokens"] == 5


def test_ask_json(harness, nim, make_words):
    nim.add_stream(CHAT, *make_words("Paris", tokens=2))
    result = harness.ask(output="json")
    (text,) = harness.data
    found = json.loads(text)
    assert result == {"changed": False, "exit_code": 0} | found
    assert {
        "models": ["acme/llm"],
        "model": "acme/llm",
        "server": "Service nim/llm",
        "task": "chat",
        "answer": "Paris",
        "tokens": 2,
        "streamed": True,
    }.items() <= found.items()
    assert harness.messages == ["models: acme/llm", "asking acme/llm"]


def test_ask_endpoint(harness, serve, nim, make_words):
    nim.add_stream(CHAT, *make_words("Paris"))
    url = serve(nim.respond).url
    assert harness.ask(name=None, endpoint=f"{url}/v1")["server"] == url
    assert not harness.cluster.server.requests


def test_ask_prompt_of_stdin(harness, nim, make_words):
    nim.add_stream(CHAT, *make_words("Paris"))
    harness.stdin = "from a pipe"
    harness.ask(prompt="-")
    assert harness.asked[-1].body["messages"][0]["content"] == "from a pipe"


def test_ask_model_of_status(harness, nim, make_words):
    nim.add("/v1/models", {"data": [{"id": "lora"}, {"id": "acme/llm"}]})
    nim.add_stream(CHAT, *make_words("Paris"))
    harness.put_service(name="acme/llm")
    assert harness.ask()["model"] == "acme/llm"


def test_ask_of_pipeline(harness, nim, make_words):
    nim.add_stream(CHAT, *make_words("Paris"))
    uid = harness.put("NIMPipeline", "rag")["metadata"]["uid"]
    harness.put_service(owner=uid)
    assert harness.ask("nimpipeline/rag")["exit_code"] == 0
    harness.put_service("embed", owner=uid)
    result = harness.ask("nimpipeline/rag")
    assert result["exit_code"] == 2
    assert result["msg"].startswith("name: NIMPipeline rag has 2 NIMServices; name one: ")


def fails(harness, **options):
    result = harness.ask(**options)
    assert (result["failed"], result["exit_code"], harness.data) == (True, 2, [])
    assert result["msg"].isprintable()
    return result["msg"]


def test_ask_absent(harness):
    text = fails(harness, name="absent")
    assert text.startswith("NIMService nim/absent does not exist: kubectl nim status lists")
    assert "answers no questions" in fails(harness, name="nimcache/models")
    assert "is not KIND/NAME" in fails(harness, name="Bad_Name")


def test_ask_missing_model(harness):
    assert fails(harness, model="other") == "model: other is not served; available models: acme/llm"


def test_ask_empty(harness, nim, make_stream):
    nim.add_stream(CHAT, {"choices": [{"delta": {}, "finish_reason": "stop"}]})
    assert fails(harness) == (
        "the answer is empty (finish_reason stop); use another prompt, raise --max-tokens, or set --task"
    )


def test_ask_not_ready(harness, nim, refused):
    """The API server knows that there are no pods, the status knows why."""
    harness.put_service(state="NotReady", conditions=[STALLED])
    answer = refused(503, "no endpoints available for service llm")
    harness.cluster.refuse["GET", f"{harness.proxy}/v1/models"] = [answer]
    assert fails(harness) == (
        "Service nim/llm cannot be reached through the API server: no endpoints available for"
        " service llm. NIMService llm is not Ready (NotReady: PullFailed: fix [2Jit):"
        " kubectl nim wait nimservice/llm"
    )


def test_ask_ready_but_unreachable(harness, refused):
    harness.put_service(externalEndpoint="llm.example")
    answer = refused(503, "no endpoints available")
    harness.cluster.refuse["GET", f"{harness.proxy}/v1/models"] = [answer]
    assert fails(harness).endswith(
        "NIMService llm is Ready; set --endpoint to its external one, llm.example"
    )


@pytest.mark.parametrize("is_refused", [True, False])
@pytest.mark.parametrize("model", ["acme/llm", "acme/other"])
def test_ask_address_of_status(harness, nim, serve, refused, answer, make_words, model, is_refused):
    """Only a server with the model of the status gets the prompt."""
    nim.add_stream(CHAT, *make_words("Paris"))
    server = serve(nim.respond)
    harness.put_service(clusterEndpoint=server.host, name=model)
    harness.cluster.refuse["GET", f"{harness.proxy}/v1/models"] = [
        refused(503, "error trying to reach service: dial tcp: no route to host")
        if is_refused
        else answer(403, "denied by a proxy: no route to host")
    ]
    if model == nim.model:
        assert harness.ask()["server"] == server.url
    else:
        assert "no route to host" in fails(harness)
        assert {request.method for request in server.requests} == {"GET"}


def test_ask_forbidden(harness, refused):
    answer = refused(403, 'services "llm:8000" is forbidden')
    harness.cluster.refuse["GET", f"{harness.proxy}/v1/models"] = [answer]
    assert "must allow get on services/proxy (get lists models, create asks)" in fails(harness)


def test_ask_service_unreadable(harness, refused):
    path = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices/llm"
    harness.cluster.refuse["GET", path] = [refused(403, "forbidden: no")]
    assert fails(harness) == "forbidden: no"


def test_ask_timeout(harness, nim, monkeypatch):
    def late(_self, *_rest):
        raise TimeoutError

    monkeypatch.setattr(command.Conversation, "ask", late)
    text = fails(harness, timeout=7)
    assert text.startswith(
        "no complete answer within 7 s: raise --timeout. NIMService llm is Ready"
    )


@pytest.mark.parametrize("option", ["timeout", "max_tokens"])
def test_ask_invalid_option(harness, option):
    with pytest.raises(NimError, match=f"{option}: is 0; use 1 or more"):
        harness.ask(**{option: 0})


def test_ask_nothing(harness):
    with pytest.raises(NimError, match="name: missing; name a NIMService, or set --endpoint"):
        harness.ask(name=None)


def test_ask_without_api_server(harness, kubeconfig_text, tmp_path):
    path = tmp_path / "closed"
    path.write_text(kubeconfig_text("http://127.0.0.1:9"))
    harness.client = Client(str(path))
    with pytest.raises(ApiError, match="cannot be reached"):
        harness.ask()
