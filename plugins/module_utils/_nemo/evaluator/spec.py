# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parsed spec of a NemoEvaluator."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ..._base.types import Fields
from .. import spec
from ..database import Database

_IMAGES = {
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
"""variable → field of `spec.evaluationImages`"""


@dataclass(frozen=True, kw_only=True)
class Spec(spec.Spec):
    """The spec. ``argo``, ``milvus``, ``datastore``, ``entitystore``: URLs of these services.

    ``argo_account``: the ServiceAccount of workflows. ``images``: variable → image of an
    evaluation, or empty if unset.
    """

    database: Database
    argo: str
    argo_account: str
    milvus: str
    datastore: str
    entitystore: str
    images: t.Mapping[str, str]
    log_handlers: str
    console_log_level: str
    log_level: str
    is_validating: bool
    telemetry: spec.Telemetry | None


def parse_spec(resource: Fields) -> Spec:
    """The spec."""
    given = resource["spec"]
    images = given.get("evaluationImages") or {}
    return Spec(
        **spec.shared_fields(resource),
        argo=spec.endpoint_of(given, "argoWorkflows"),
        argo_account=given["argoWorkflows"]["serviceAccount"],
        milvus=spec.endpoint_of(given, "vectorDB"),
        datastore=spec.endpoint_of(given, "datastore"),
        entitystore=spec.endpoint_of(given, "entitystore"),
        images={name: images.get(field) or "" for name, field in _IMAGES.items()},
        log_handlers=given.get("logHandlers") or "console",
        console_log_level=given.get("consoleLogLevel") or "INFO",
        log_level=given.get("evalLogLevel") or "INFO",
        is_validating=given.get("enableValidation") is not False,
        telemetry=spec.parse_telemetry(given.get("otel")),
    )
