# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest


def test_parse_spec_services(nemo: t.Any) -> None:
    spec = nemo.app("NemoEvaluator").spec
    assert (spec.argo, spec.argo_account) == ("https://argo:2746", "executor")
    assert spec.milvus == "http://milvus:19530"
    assert spec.datastore == "http://datastore:8000"
    assert spec.entitystore == "http://entitystore:8000"


@pytest.mark.parametrize("given", [{}, {"logHandlers": "", "consoleLogLevel": None}])
def test_parse_spec_defaults(nemo: t.Any, given: dict[str, t.Any]) -> None:
    spec = nemo.app("NemoEvaluator", {"evaluationImages": None, **given}).spec
    assert (spec.log_handlers, spec.console_log_level, spec.log_level) == (
        "console",
        "INFO",
        "INFO",
    )
    assert set(spec.images.values()) == {""}
    assert spec.is_validating
    assert spec.telemetry is None


def test_parse_spec_images(nemo: t.Any) -> None:
    spec = nemo.app("NemoEvaluator", {"evaluationImages": {"rag": "r", "bfcl": "b"}}).spec
    assert {key: value for key, value in spec.images.items() if value} == {"RAG": "r", "BFCL": "b"}
