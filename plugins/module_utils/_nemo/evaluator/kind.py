# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoEvaluator: benchmarks models and pipelines in Argo workflows."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._builders.env import EnvVar, env, field_env
from ..._engine.kind import Access
from ..app import Items, NemoApp
from ..grants import Grant
from ..kind import nemo_kind
from ..migration import migrate
from ..probes import probe, startup
from ..telemetry import telemetry_env
from .spec import Spec, parse_spec

_GRANTS = (Grant("", "secrets pods", "get watch list create"),)


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

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    def grants(self) -> t.Sequence[Grant]:
        """Permissions to start evaluation pods."""
        return _GRANTS

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        spec = self.spec
        return [
            *env(NAMESPACE=self.namespace),
            field_env("HOST_IP", "status.hostIP"),
            *env(
                EVALUATOR_HOST="0.0.0.0",
                EVALUATOR_PORT=str(self.ports["api"]),
                ARGO_HOST=spec.argo,
                MILVUS_URL=spec.milvus,
                SERVICE_ACCOUNT=spec.argo_account,
                DATA_STORE_URL=spec.datastore,
                ENTITY_STORE_URL=spec.entitystore,
                EVAL_CONTAINER=spec.image.reference,
                LOG_HANDLERS=spec.log_handlers,
                CONSOLE_LOG_LEVEL=spec.console_log_level,
                EVAL_LOG_LEVEL=spec.log_level,
            ),
            *(env(EVAL_ENABLE_VALIDATION="True") if spec.is_validating else []),
            *self._database_env(),
            *env(**spec.images),
            *telemetry_env(spec.telemetry),
        ]

    def init_containers(self) -> Items:
        """Init containers that wait for the database and migrate its tables."""
        spec = self.spec
        variables = env(
            NAMESPACE=self.namespace,
            ARGO_HOST=spec.argo,
            EVAL_CONTAINER=spec.image.reference,
            DATA_STORE_URL=spec.datastore,
        )
        return migrate(
            self,
            spec.database,
            "evaluator",
            command=["sh", "-c", "/app/scripts/run-db-migration.sh"],
            env=[*variables, *self._database_env(), *env(**spec.images)],
        )

    def _database_env(self) -> list[EnvVar]:
        return [self.spec.database.password_env(), self.url_env("POSTGRES_URI")]


KIND = nemo_kind(
    EvaluatorApp,
    "NemoEvaluator",
    "nemoeval",
    access=(Access("Secret", "write", "the URL of the database"),),
    grants=_GRANTS,
)
