# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Questions to model servers of all kinds, also odd and hostile ones."""

from __future__ import annotations

import itertools

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask import (
    server_events,
    servers,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.ask import (
    Conversation,
    choose_model,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.servers import (
    parse_endpoint,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.tasks import Question

CHAT, TEXT, VECTOR = "/v1/chat/completions", "/v1/completions", "/v1/embeddings"
RANK, RERANK = "/v1/ranking", "/v1/rerank"
EVENTS = {"Content-Type": "text/event-stream"}
WHOLE = {
    "choices": [{"message": {"content": "Paris."}, "finish_reason": "stop"}],
    "usage": {"completion_tokens": 2},
}
NO_TEMPLATE = {"object": "error", "message": "default chat template is no longer allowed"}
NO_FIELD = {"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]}
RANKED = {"rankings": [{"index": 1, "logit": 4.5}, {"index": 0, "logit": -1}]}
SCORED = {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]}


@pytest.fixture
def talk(serve, nim):
    """A conversation with the server, which also has the server."""
    server = serve(nim.respond)
    made = Conversation(parse_endpoint(server.url), 20)
    made.posts = lambda: [item.path for item in server.requests if item.method == "POST"]
    return made


def ask(talk, prompt="q\na\nb", task=""):
    (model,) = talk.list_models()
    return talk.ask(Question(model, prompt, 64), task)


def play_vllm(nim, words):
    paths = {path: {"post": {}} for path in (CHAT, TEXT, VECTOR, RERANK, "/rerank")}
    nim.add("/openapi.json", {"paths": paths})
    nim.add_stream(CHAT, *words("Pa", "ris", tokens=2))


def play_tensorrt(nim, _words):
    """A server with strict requests, which answers at once."""

    def answer(request):
        unknown = {"stream_options"} & set(request.body)
        return nim.answer(422, NO_FIELD) if unknown else nim.answer(200, WHOLE)

    nim.routes[CHAT] = answer


def play_base_model(nim, words):
    nim.add(CHAT, NO_TEMPLATE, 400)
    nim.add_stream(TEXT, *words("Pa", "ris", key="text"))


def play_old_embedding(nim, _words):
    """An embedding NIM that lists no models but its metadata."""
    nim.routes.pop("/v1/models")
    nim.add("/v1/metadata", {"modelInfo": [{"shortName": "nv-embedqa:2"}]})
    nim.add(VECTOR, {"data": [{"embedding": [0.25] * 10}]})


def play_unnamed_embedding(nim, _words):
    nim.add(VECTOR, {"data": [{"embedding": [1, 2]}]})


def play_strict_embedding(nim, _words):
    nim.model = "acme/embed"
    vector = {"data": [{"embedding": [1, 2]}]}
    nim.routes[VECTOR] = lambda request: (
        nim.answer(400, NO_FIELD) if "input_type" in request.body else nim.answer(200, vector)
    )


def play_rerank(nim, _words):
    nim.model = "nvidia/nv-rerankqa"
    nim.add(RANK, RANKED)


def play_rerank_of_vllm(nim, _words):
    nim.add("/openapi.json", {"paths": {path: {"post": {}} for path in (RERANK, "/rerank")}})
    nim.add(RERANK, SCORED)


SERVERS = {
    "vLLM": (play_vllm, "chat", "Paris", [CHAT]),
    "TensorRT-LLM": (play_tensorrt, "chat", "Paris.", [CHAT, CHAT]),
    "a base model": (play_base_model, "completion", "Paris", [CHAT, CHAT, TEXT]),
    "an old embedding NIM": (
        play_old_embedding,
        "embedding",
        "dimension: 10\nfirst values: 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, …",
        [VECTOR],
    ),
    "an embedding model without a hint": (
        play_unnamed_embedding,
        "embedding",
        "dimension: 2\nfirst values: 1, 2",
        [CHAT, TEXT, VECTOR],
    ),
    "a strict embedding model": (
        play_strict_embedding,
        "embedding",
        "dimension: 2\nfirst values: 1, 2",
        [VECTOR, VECTOR],
    ),
    "a rerank NIM": (play_rerank, "rerank", "1. 4.5000  b\n2. -1.0000  a", [RANK]),
    "a reranker on vLLM": (play_rerank_of_vllm, "rerank", "1. 0.9000  b\n2. 0.1000  a", [RERANK]),
}


@pytest.mark.parametrize(("play", "task", "text", "posts"), SERVERS.values(), ids=SERVERS)
def test_ask(nim, talk, make_words, play, task, text, posts):
    play(nim, make_words)
    reply = ask(talk)
    assert (reply.request.task, reply.text, talk.posts()) == (task, text, posts)


def test_ask_times(nim, talk, make_words):
    """A clock that ticks once a reading; the answer has six tokens."""
    nim.add_stream(CHAT, *make_words("a", "b", tokens=6))
    (model,) = talk.list_models()
    ticks = itertools.count(talk.begun, 0.5)
    talk.clock = lambda: next(ticks)
    reply = talk.ask(Question(model, "q", 64))
    assert (reply.first, reply.seconds, reply.tokens) == (1.0, 3.0, 6)
    assert reply.timing == (
        "time to first token 1.00 s, answer after 3.00 s, 6 tokens, 2.5 tokens/s"
    )
    assert reply.to_dict() == {
        "task": "chat",
        "answer": "ab",
        "finish_reason": "stop",
        "time_to_first_token": 1.0,
        "tokens_per_second": 2.5,
        "tokens": 6,
        "seconds": 3.0,
        "streamed": True,
    }


def test_ask_given_task_only(nim, talk):
    with pytest.raises(NimError) as caught:
        ask(talk, task="rerank")
    assert talk.posts() == [RANK, RERANK, "/rerank"]
    assert str(caught.value).startswith(
        "the model server refuses the request: /v1/ranking: HTTP status 404: Not Found; /v1/rerank"
    )


def test_ask_names_the_real_refusal_first(nim, talk):
    nim.add(TEXT, {"object": "error", "message": "max_tokens is too large"}, 400)
    with pytest.raises(
        NimError, match="refuses the request: /v1/completions: HTTP status 400: max"
    ):
        ask(talk)


UNUSABLE = {
    "empty": ("data: [DONE]\n\n", "the answer is empty; use another prompt"),
    "only spaces": (
        'data: {"choices": [{"delta": {"content": " \\n"}, "finish_reason": "length"}]}\n\n',
        "the answer is empty (finish_reason length)",
    ),
    "only control characters": (
        'data: {"choices": [{"delta": {"content": "\\u001b[2J\\u0000"}}]}\n\ndata: [DONE]\n\n',
        "the answer is empty",
    ),
    "only reasoning": (
        'data: {"choices": [{"delta": {"reasoning_content": "hm"}, "finish_reason": "length"}]}\n\n',
        "the answer is empty: all 1 tokens were reasoning; raise --max-tokens",
    ),
    "broken off": (
        'data: {"choices": [{"delta": {"content": "a"}}]}\n\n',
        "the answer to /v1/chat/completions ended before it was complete",
    ),
    "an error in the stream": (
        'data: {"error": {"message": "out of \\u001b[31mmemory"}}\n\n',
        "the answer to /v1/chat/completions has an event that is an error: out of [31mmemory",
    ),
    "no JSON": ("data: {\n\n", "has an event that is not a JSON object"),
    "no events": ("<html>\n\n", "is not a stream of events: it has a line that is not a field"),
    "a huge event": (f"data: {'x' * 10001}", "is not a stream of events: it has an event of"),
    "endless": (": ping\n" * 3000, "is incomplete: the answer is larger than 20000 bytes"),
}


@pytest.mark.parametrize(("body", "text"), UNUSABLE.values(), ids=UNUSABLE)
def test_ask_unusable_stream(nim, talk, monkeypatch, body, text):
    monkeypatch.setattr(server_events, "MAX_EVENT", 10000)
    monkeypatch.setattr(servers, "LIMIT_BYTES", 20000)
    nim.add(CHAT, body, headers=EVENTS)
    with pytest.raises(NimError) as caught:
        ask(talk)
    assert text in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(talk.posts()) == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<html>", "the answer to /v1/chat/completions is not a JSON object"),
        ({"choices": []}, "the answer is empty"),
        ({"error": {"message": "x"}}, "is an error: x"),
        (
            {"choices": [{"message": {"content": None}, "finish_reason": "tool_calls"}]},
            "tool_calls",
        ),
    ],
)
def test_ask_unusable_answer(nim, talk, body, text):
    nim.add(CHAT, body)
    with pytest.raises(NimError, match=text):
        ask(talk)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (401, "HTTP status 401: no\\.: the model server requires credentials"),
        (403, "HTTP status 403: no\\.: the model server denies access"),
        (429, "HTTP status 429: no\\.: the model server is busy"),
        (500, "HTTP status 500: no\\.$"),
        (502, "HTTP status 502: no\\.: a proxy received no valid response"),
        (503, "HTTP status 503: no\\.: the model server is not ready"),
        (307, "the model server redirects, and ask does not follow redirects"),
    ],
)
def test_ask_final_status(nim, talk, status, text):
    nim.add(CHAT, {"error": "no."}, status, headers={"Location": "http://127.0.0.1:1/"})
    with pytest.raises(NimError, match=text):
        ask(talk)
    assert len(talk.posts()) == 1


@pytest.mark.parametrize("listed", [{"data": []}, {"data": [{"id": "\x1b[2J"}]}, {}])
def test_list_models_none(nim, talk, listed):
    nim.add("/v1/models", listed)
    with pytest.raises(NimError, match="lists no model: it is still loading"):
        talk.list_models()


def test_list_models_unreachable():
    talk = Conversation(parse_endpoint("http://127.0.0.1:9"), 5)
    with pytest.raises(NimError, match="9 cannot be reached: connection refused"):
        talk.list_models()


def test_conversation_timeout(raw):
    """A server that sends its answer byte by byte."""
    url = raw([b"HTTP/1.1 200 OK\r\n\r\n", *[b" "] * 100], pause=0.1)
    talk = Conversation(parse_endpoint(url.removesuffix("/v1/models")), 0.4)
    with pytest.raises(TimeoutError):
        talk.list_models()


@pytest.mark.parametrize(
    ("wanted", "known", "expected"),
    [("lora", "llm", "lora"), ("", "lora", "lora"), ("", "", "llm"), ("", "absent", "llm")],
)
def test_choose_model(wanted, known, expected):
    models = {"lora": {"root": "llm"}, "llm": {"root": "llm"}}
    assert choose_model(models, wanted, known) == expected


def test_choose_model_absent():
    with pytest.raises(NimError, match=r"model: \[2Jx is not served; available models: llm"):
        choose_model({"llm": {}}, "\x1b[2Jx", "")
