# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.tasks import (
    Question,
    order_tasks,
    requests_of,
    routes_of,
)

CHAT, TEXT, VECTOR, RANK = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/ranking",
)
VLLM = ["/tokenize", CHAT, TEXT, VECTOR, "/v1/rerank", "/rerank", "/v2/rerank"]

ORDERS = {
    "chat first": ("meta/llama-3.1-8b-instruct", [], ["chat", "completion", "embedding", "rerank"]),
    "an embedding model": ("nvidia/nv-embedqa-e5-v5", [], ["embedding", "chat"]),
    "a rerank model": ("nvidia/llama-3.2-nv-rerankqa-1b-v2", [], ["rerank", "chat"]),
    "the reranker of a family of embeddings": ("BAAI/bge-reranker-v2-m3", [], ["rerank", "chat"]),
    "a short name": ("BAAI/bge-m3", [], ["embedding", "chat"]),
    "e5 is not part of a word": ("acme/line5", [], ["chat"]),
    "an LLM of NIM": ("acme/x", [CHAT, TEXT, "/v1/models"], ["chat", "completion"]),
    "an embedding NIM of any name": ("acme/x", [VECTOR, "/v1/models"], ["embedding"]),
    "a rerank NIM of any name": ("acme/x", [RANK], ["rerank"]),
    "vLLM declares everything": (
        "acme/embed-1",
        VLLM,
        ["embedding", "chat", "completion", "rerank"],
    ),
    "unknown paths": ("acme/x", ["/predict"], ["chat", "completion", "embedding", "rerank"]),
}


@pytest.mark.parametrize(("model", "paths", "expected"), ORDERS.values(), ids=ORDERS)
def test_order_tasks(model, paths, expected):
    assert order_tasks(model, paths)[: len(expected)] == expected
    assert not paths or paths == ["/predict"] or len(order_tasks(model, paths)) == len(expected)


@pytest.mark.parametrize(
    ("task", "paths", "expected"),
    [
        ("rerank", [], ["/v1/ranking", "/v1/rerank", "/rerank"]),
        ("rerank", VLLM, ["/v1/rerank", "/rerank"]),
        ("chat", [RANK], [CHAT]),
    ],
)
def test_routes_of(task, paths, expected):
    assert routes_of(task, paths) == expected


ASKED = Question("m", " who?\n a \n\nb\n", 5)
BODIES = {
    "chat": (
        ("chat", CHAT),
        {
            "model": "m",
            "messages": [{"role": "user", "content": ASKED.prompt}],
            "max_tokens": 5,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        {"model", "messages", "max_tokens"},
    ),
    "completion": (
        ("completion", TEXT),
        {
            "model": "m",
            "prompt": ASKED.prompt,
            "max_tokens": 5,
            "stream": True,
            "stream_options": {"include_usage": True},
        },
        {"model", "prompt", "max_tokens"},
    ),
    "embedding": (
        ("embedding", VECTOR),
        {
            "model": "m",
            "input": [ASKED.prompt],
            "input_type": "query",
            "encoding_format": "float",
        },
        {"model", "input"},
    ),
    "rerank of NVIDIA": (
        ("rerank", RANK),
        {"model": "m", "query": {"text": "who?"}, "passages": [{"text": "a"}, {"text": "b"}]},
        None,
    ),
    "rerank of others": (
        ("rerank", "/v1/rerank"),
        {"model": "m", "query": "who?", "documents": ["a", "b"]},
        None,
    ),
}


@pytest.mark.parametrize(("where", "first", "plain"), BODIES.values(), ids=BODIES)
def test_requests_of(where, first, plain):
    found = requests_of(*where, ASKED)
    assert (found[0].task, found[0].path) == where
    assert found[0].body == first
    assert [set(item.body) for item in found[1:]] == ([plain] if plain else [])


def test_passages_by_default():
    assert len(Question("m", "who?", 5).passages) == 3
