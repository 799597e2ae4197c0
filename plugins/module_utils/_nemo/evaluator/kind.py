# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoEvaluator: evaluates models and pipelines by benchmarks, in Argo workflows."""

from __future__ import annotations

import typing as t

from ..._builders.env import EnvVar, env, field_env
from ..._engine.kind import Access, Rule
from ..app import Items, NemoApp
from ..database import url_env, wait_container
from ..kind import nemo_kind
from ..migration import migration
from ..probes import probe, startup
from ..telemetry import telemetry_env

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


class EvaluatorApp(NemoApp):
    """The context of a pass over a NemoEvaluator."""

    part_of = "nemo-evaluator-service"
    url_key = "uri"
    ports: t.ClassVar = {"api": 7331}
    probes: t.ClassVar = {
        "livenessProbe": probe("/health", 0, 3),
        "readinessProbe": probe("/health", 0, 3),
        "startupProbe": startup("/health"),
    }

    def rules(self) -> list[dict[str, t.Any]]:
        """It starts the pods of evaluations."""
        verbs = ["get", "watch", "list", "create"]
        return [{"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": verbs}]

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        validation = self.fields.get("enableValidation") is not False
        return [
            *env(NAMESPACE=self.namespace),
            field_env("HOST_IP", "status.hostIP"),
            *env(
                EVALUATOR_HOST="0.0.0.0",
                EVALUATOR_PORT=str(self.ports["api"]),
                ARGO_HOST=self.endpoint("argoWorkflows"),
                MILVUS_URL=self.endpoint("vectorDB"),
                SERVICE_ACCOUNT=self.block("argoWorkflows")["serviceAccount"],
                DATA_STORE_URL=self.endpoint("datastore"),
                ENTITY_STORE_URL=self.endpoint("entitystore"),
                EVAL_CONTAINER=self.image,
                LOG_HANDLERS=self._given("logHandlers", "console"),
                CONSOLE_LOG_LEVEL=self._given("consoleLogLevel", "INFO"),
                EVAL_LOG_LEVEL=self._given("evalLogLevel", "INFO"),
            ),
            *(env(EVAL_ENABLE_VALIDATION="True") if validation else []),
            *self._database_env(),
            *self._image_env(),
            *telemetry_env(self.fields.get("otel")),
        ]

    def init_containers(self) -> Items:
        """The database must accept connections, and have the current tables."""
        variables = env(
            NAMESPACE=self.namespace,
            ARGO_HOST=self.endpoint("argoWorkflows"),
            EVAL_CONTAINER=self.image,
            DATA_STORE_URL=self.endpoint("datastore"),
        )
        return [
            wait_container(self, self.needed_database, self.fields["image"]),
            migration(
                self,
                "evaluator",
                command=["sh", "-c", "/app/scripts/run-db-migration.sh"],
                env=[*variables, *self._database_env(), *self._image_env()],
            ),
        ]

    def _given(self, field: str, default: str) -> str:
        return str(self.fields.get(field) or default)

    def _database_env(self) -> list[EnvVar]:
        return [
            self.needed_database.password_env(),
            url_env(self, "POSTGRES_URI", self.url_key),
        ]

    def _image_env(self) -> list[EnvVar]:
        images = self.block("evaluationImages")
        return env(**{name: images.get(field) or "" for name, field in _IMAGES.items()})


_GRANTED = "the Role of a NemoEvaluator grants it, so the operator needs it too"

KIND = nemo_kind(
    EvaluatorApp,
    "NemoEvaluator",
    access=(Access("Secret", "write", "the URL of the database"),),
    rules=(Rule("", "secrets pods", "get watch list create", _GRANTED),),
)
