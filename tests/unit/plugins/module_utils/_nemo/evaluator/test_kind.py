# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest

IMAGES = {
    "BIGCODE_EVALUATION_HARNESS": "bigcodeEvalHarness",
    "LM_EVAL_HARNESS": "lmEvalHarness",
    "SIMILARITY_METRICS": "similarityMetrics",
    "LLM_AS_A_JUDGE": "llmAsJudge",
    "MT_BENCH": "mtBench",
    "RETRIEVER": "retriever",
    "RAG": "rag",
    "BFCL": "bfcl",
    "AGENTIC_EVAL": "agenticEval",
}
DATABASE = ["POSTGRES_DB_PASSWORD<pg/password", "POSTGRES_URI<x/uri"]
IMAGE = "EVAL_CONTAINER=registry.example/nemo:25.10"
VALIDATION = "EVAL_ENABLE_VALIDATION=True"
ROWS = [
    "NAMESPACE=ns",
    "HOST_IP^status.hostIP",
    "EVALUATOR_HOST=0.0.0.0",
    "EVALUATOR_PORT=7331",
    "ARGO_HOST=https://argo:2746",
    "MILVUS_URL=http://milvus:19530",
    "SERVICE_ACCOUNT=executor",
    "DATA_STORE_URL=http://datastore:8000",
    "ENTITY_STORE_URL=http://entitystore:8000",
    IMAGE,
    "LOG_HANDLERS=console",
    "CONSOLE_LOG_LEVEL=INFO",
    "EVAL_LOG_LEVEL=INFO",
    VALIDATION,
    *DATABASE,
    *IMAGES,
    "OTEL_SDK_DISABLED=true",
]


def rows(nemo: t.Any, **spec: t.Any) -> list[str]:
    return list(nemo.rows(nemo.container("NemoEvaluator", spec)["env"]))


@pytest.mark.parametrize(
    ("spec", "changes"),
    [
        pytest.param({}, {}, id="least"),
        pytest.param({"enableValidation": True}, {}, id="validation given"),
        pytest.param({"enableValidation": False}, {VALIDATION: None}, id="no validation"),
        pytest.param(
            {"logHandlers": "file", "consoleLogLevel": "DEBUG", "evalLogLevel": "DEBUG"},
            {
                "LOG_HANDLERS=console": "LOG_HANDLERS=file",
                "CONSOLE_LOG_LEVEL=INFO": "CONSOLE_LOG_LEVEL=DEBUG",
                "EVAL_LOG_LEVEL=INFO": "EVAL_LOG_LEVEL=DEBUG",
            },
            id="logs",
        ),
        pytest.param(
            {"evaluationImages": {field: f"e/{field}" for field in IMAGES.values()}},
            {name: f"{name}=e/{field}" for name, field in IMAGES.items()},
            id="images",
        ),
    ],
)
def test_env(nemo: t.Any, spec: t.Any, changes: dict[str, str | None]) -> None:
    assert rows(nemo, **spec) == [row for item in ROWS if (row := changes.get(item, item))]


def test_env_telemetry_last(nemo: t.Any) -> None:
    found = rows(nemo, otel={"enabled": True})
    assert found[: len(ROWS) - 1] == ROWS[:-1]
    assert len(found) == len(ROWS) - 1 + 7


def test_migration_env(nemo: t.Any) -> None:
    _wait, migration = nemo.pod("NemoEvaluator")["initContainers"]
    assert nemo.rows(migration["env"]) == [
        "NAMESPACE=ns",
        "ARGO_HOST=https://argo:2746",
        IMAGE,
        "DATA_STORE_URL=http://datastore:8000",
        *DATABASE,
        *IMAGES,
    ]


def test_role(nemo: t.Any) -> None:
    constraint, pods = nemo.made("NemoEvaluator")["Role"]["rules"]
    assert constraint == {
        "apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"],
        "resourceNames": ["nonroot"],
        "verbs": ["use"],
    }
    assert pods == {
        "apiGroups": [""],
        "resources": ["secrets", "pods"],
        "verbs": ["get", "watch", "list", "create"],
    }
