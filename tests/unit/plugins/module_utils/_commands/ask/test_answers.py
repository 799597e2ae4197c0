# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.answers import (
    AnswerError,
    Generation,
    declared_paths,
    error_text,
    list_models,
    list_names,
    main_model,
    parse_object,
    read_embedding,
    read_ranking,
)

BAD = "the model\x1b[2J"


@pytest.mark.parametrize("content", [b"", b"[]", b"[" * 99999, b"1" * 9999, b"<html>", b"\xff"])
def test_parse_object_invalid(content):
    with pytest.raises(AnswerError, match="is not a JSON object"):
        parse_object(content)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"data": [{"id": "a"}, {"id": "b"}]}, ["a", "b"]),
        ({"data": [{"id": BAD}, {"id": ""}, {"id": 5}, {}, 7, {"id": "x" * 999}]}, []),
        ({"data": [{"id": f"m{number}"} for number in range(1000)]}, [f"m{x}" for x in range(100)]),
        ({"data": {}}, []),
        ({}, []),
    ],
)
def test_list_models(body, names):
    assert list(list_models(body)) == names


def test_list_names():
    body = {"modelInfo": [{"shortName": "nv-embed:1.0"}, {"shortName": BAD}, {}, 5]}
    assert list(list_names(body)) == ["nv-embed"]


def test_main_model():
    listed = list_models({"data": [{"id": "lora", "root": "llm"}, {"id": "llm", "root": "llm"}]})
    assert main_model(listed) == "llm"
    assert main_model({"a": {}, "b": {}}) == "a"


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"paths": {"/a": {"post": {}}, "/b": {"get": {}}, "/c": 5}}, ["/a"]),
        ({"paths": []}, []),
        ({}, []),
    ],
)
def test_declared_paths(body, paths):
    assert declared_paths(body) == paths


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"object": "error", "message": "too long"}, "too long"),
        ({"error": {"message": "no\nsuch", "type": "x"}}, "no such"),
        ({"error": "Unauthorized"}, "Unauthorized"),
        (
            {"detail": [{"loc": ["body"], "msg": "extra fields not permitted"}]},
            "extra fields not pe",
        ),
        ({"kind": "Status", "message": BAD}, "the model[2J"),
        ({"message": "x" * 9999}, "x" * 300),
        ({}, ""),
    ],
)
def test_error_text(body, text):
    assert error_text(json.dumps(body).encode())[: len(text) or None] == text
    assert len(error_text(json.dumps(body).encode())) <= 300


def test_error_text_plain():
    assert error_text(b"\x1b[31mBad\ngateway") == "[31mBad gateway"
    assert error_text(b" <html>Bad gateway</html>") == ""


def delta(**fields):
    return {"choices": [{"delta": fields}]}


GENERATIONS = {
    "chat": (
        [delta(role="assistant", content=""), delta(content="Hi"), delta(content="!")],
        "Hi!",
        2,
    ),
    "completion": ([{"choices": [{"text": "a"}]}, {"choices": [{"text": "b"}]}], "ab", 2),
    "whole": (
        [{"choices": [{"message": {"content": "Hi"}}], "usage": {"completion_tokens": 7}}],
        "Hi",
        7,
    ),
    "parts": ([delta(content=[{"type": "text", "text": "a"}, {"x": 1}, 5])], "a", 1),
    "usage at the end": (
        [delta(content="a"), {"choices": [], "usage": {"completion_tokens": 9}}],
        "a",
        9,
    ),
    "refusal": ([delta(content=None, refusal="No.")], "No.", 1),
    "reasoning": ([delta(reasoning_content="hm"), delta(content="a")], "a", 2),
    "hostile": ([delta(content="a\x1b[2Jb\x1b]0;t\x07c\x00\u202ed\ne")], "abcd\ne", 1),
    "odd counts": ([delta(content="a") | {"usage": {"completion_tokens": -1}}], "a", 1),
    "odd usage": ([delta(content="a") | {"usage": [1]}], "a", 1),
    "no text": ([delta(content=5), delta(), {"choices": [7]}], "", 0),
}


@pytest.mark.parametrize(("bodies", "text", "tokens"), GENERATIONS.values(), ids=GENERATIONS)
def test_generation(bodies, text, tokens):
    found = Generation()
    for now, body in enumerate(bodies):
        found.add(body, float(now))
    assert (found.text, found.tokens) == (text, tokens)


def test_generation_first_text():
    found = Generation()
    bodies = [delta(role="assistant"), delta(content="a"), delta(content="b"), {"choices": []}]
    for now, body in enumerate(bodies):
        found.add(body, float(now))
    assert found.first == 1.0


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": {"message": "out of memory"}}, "is an error: out of memory"),
        ({"object": "error", "message": "x"}, "is an error: x"),
        ({"choices": {}}, "has no choices"),
        ({}, "has no choices"),
        ({"choices": [{"message": [1]}]}, "has a choice without a message"),
    ],
)
def test_generation_invalid(body, text):
    with pytest.raises(AnswerError, match=text):
        Generation().add(body, 0.0)


def test_read_embedding():
    assert read_embedding({"data": [{"embedding": [1, -0.5]}, {"embedding": [9]}]}) == [1.0, -0.5]


@pytest.mark.parametrize(
    "vector",
    [[], None, "AAAA", [True], ["1"], [float("nan")], [10**400], [0] * (1 << 17), {}],
    ids=lambda value: str(value)[:9],
)
def test_read_embedding_invalid(vector):
    with pytest.raises(AnswerError, match=r"has (no|an) embedding"):
        read_embedding({"data": [{"embedding": vector}]})


@pytest.mark.parametrize(
    "body",
    [
        {"rankings": [{"index": 1, "logit": -3.5}, {"index": 0, "logit": 2}]},
        {"results": [{"index": 0, "relevance_score": 2.0}, {"index": 1, "relevance_score": -3.5}]},
        {"results": [{"index": 0, "score": 2.0}, {"index": 1, "score": -3.5}, {"index": 9}]},
    ],
)
def test_read_ranking(body):
    assert read_ranking(body, 2) == [(0, 2.0), (1, -3.5)]


@pytest.mark.parametrize(
    ("ranked", "text"),
    [
        ([], "ranks no passage"),
        ([{"index": 2, "logit": 1}], "does not exist"),
        ([{"index": -1, "logit": 1}], "does not exist"),
        ([{"index": True, "logit": 1}], "does not exist"),
        ([{"index": 0, "logit": 1}] * 2, "or one twice"),
        ([{"index": 0}], "without a score"),
        ([{"index": 0, "logit": "1"}], "without a score"),
    ],
)
def test_read_ranking_invalid(ranked, text):
    with pytest.raises(AnswerError, match=text):
        read_ranking({"rankings": ranked}, 2)
