# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.model import (
    MAX_NAME,
    Answer,
    model_reads,
    needs_model,
    read_answer,
)

AT = "10.0.0.1:8000"
MODELS, METADATA = f"http://{AT}/v1/models", f"http://{AT}/v1/metadata"
NOT_FOUND = {"status": 404, "body": "not found", "error": ""}
BASE = {"id": "meta/llama", "object": "model", "root": "meta/llama"}
LORA = {"id": "lora", "object": "model", "root": "meta/llama"}


def ok(body: t.Any) -> dict[str, t.Any]:
    return {"status": 200, "body": body if isinstance(body, str) else json.dumps(body), "error": ""}


def listed(*models: t.Any) -> dict[str, t.Any]:
    return ok({"object": "list", "data": models})


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        pytest.param(listed(BASE), Answer("meta/llama"), id="one"),
        pytest.param(listed({"id": "any"}), Answer("any"), id="one, whatever it says"),
        pytest.param(listed(LORA, BASE), Answer("meta/llama"), id="LoRA adapters"),
        pytest.param(listed(LORA, LORA), Answer(""), id="only adapters"),
        pytest.param(listed(), Answer(""), id="none"),
        pytest.param(ok({"object": "list", "data": None}), Answer(""), id="no list"),
        pytest.param(ok({"object": "model"}), Answer(""), id="not a list"),
        pytest.param(listed("text"), Answer(""), id="list of text"),
        pytest.param(listed({"id": 7}), Answer(""), id="id is a number"),
        pytest.param(
            listed({"id": "a\x1b[31m\nb\u202ec\ud800"}), Answer("a[31mbc"), id="control characters"
        ),
        pytest.param(listed({"id": "x" * 10_000}), Answer("x" * MAX_NAME), id="long name"),
        pytest.param(
            ok("<html>"),
            Answer(error=f"GET {MODELS}: the answer is not a JSON object"),
            id="garbage",
        ),
        pytest.param(
            ok("<html>") | {"late": True},
            Answer(error=f"GET {MODELS}: the answer is not a JSON object", late=True),
            id="garbage that took long",
        ),
        pytest.param(
            ok([]), Answer(error=f"GET {MODELS}: the answer is not a JSON object"), id="array"
        ),
        pytest.param(
            ok(""), Answer(error=f"GET {MODELS}: the answer is not a JSON object"), id="nothing"
        ),
        pytest.param(
            ok("[" * 100_000),
            Answer(error=f"GET {MODELS}: the answer is not a JSON object"),
            id="deep",
        ),
        pytest.param(
            {"status": 503, "body": "x", "error": ""},
            Answer(error=f"GET {MODELS}: HTTP status 503"),
            id="unavailable",
        ),
        pytest.param(
            {"status": 0, "body": "", "error": "refused"},
            Answer(error=f"GET {MODELS}: refused"),
            id="no connection",
        ),
        pytest.param(None, None, id="not asked"),
    ],
)
def test_read_answer_of_models(answer: t.Any, wanted: Answer | None) -> None:
    assert read_answer(AT, Observed({MODELS: answer} if answer else {})) == wanted


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        pytest.param(
            ok({"modelInfo": [{"shortName": "riva:1.0"}]}), Answer("riva"), id="with version"
        ),
        pytest.param(
            ok({"modelInfo": [{"shortName": "riva"}, {"shortName": "b"}]}),
            Answer("riva"),
            id="first",
        ),
        pytest.param(ok({"modelInfo": []}), Answer(""), id="none"),
        pytest.param(ok({"modelInfo": [{"shortName": 1}]}), Answer(""), id="no text"),
        pytest.param(ok({}), Answer(""), id="no list"),
        pytest.param(NOT_FOUND, Answer(""), id="not there either"),
        pytest.param(
            {"status": 500, "body": "", "error": ""},
            Answer(error=f"GET {METADATA}: HTTP status 500"),
            id="error",
        ),
        pytest.param(None, None, id="not asked yet"),
    ],
)
def test_read_answer_of_metadata(answer: t.Any, wanted: Answer | None) -> None:
    answers = {MODELS: NOT_FOUND} | ({METADATA: answer} if answer else {})
    assert read_answer(AT, Observed(answers)) == wanted


def test_model_reads_ask_for_metadata_after_404() -> None:
    def asked(answers: t.Any) -> list[str]:
        return [read.url for read in model_reads(AT, "ns", Observed(answers))]

    assert asked({}) == [MODELS]
    assert asked({MODELS: listed(BASE)}) == [MODELS]
    assert asked({MODELS: NOT_FOUND}) == [MODELS, METADATA]


def test_an_endpoint_may_be_a_url() -> None:
    (asked,) = model_reads("https://llm.ns.svc/", "ns", Observed({}))
    assert (asked.url, asked.namespace) == ("https://llm.ns.svc/v1/models", "ns")


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
def test_needs_model(make: t.Any, status: t.Any, wanted: bool) -> None:
    assert needs_model(make.cr(status=status), AT) is wanted
