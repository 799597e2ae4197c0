# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoGuardrail: checks the inputs and outputs of a model."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._base.errors import NimError
from ..._builders.env import EnvVar, env, secret_env
from ..._builders.inputs import Input
from ..._engine.kind import Access
from ..app import Items, NemoApp
from ..database import Database
from ..kind import nemo_kind
from ..migration import migrate
from ..probes import probe, startup
from ..telemetry import telemetry_env
from .spec import API_KEY, Spec, parse_spec

_STORE, _STORE_PATH = "config-store", "/config-store"
_WORK_DIR = "/app/services/guardrails"


class GuardrailApp(NemoApp):
    """The context of a pass over a NemoGuardrail."""

    part_of = "nemo-guardrail-service"
    url_key = "uri"
    selected_by = ("app", "app.kubernetes.io/name", "app.kubernetes.io/instance")
    ports: t.ClassVar = {"api": 8000}
    probes: t.ClassVar = {
        "livenessProbe": probe("/v1/health", 15, 3),
        "readinessProbe": probe("/v1/health", 15, 3),
        "startupProbe": startup("/v1/health"),
    }

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    def inputs(self) -> list[Input]:
        """The rail configuration, the model's API key and the database password."""
        found, model = super().inputs(), self.spec.model
        if name := self.spec.config_map:
            found.append(Input("ConfigMap", name, "spec.configStore.configMap.name"))
        if model and (api_key := model.api_key):
            field = "spec.nimEndpoint.apiKeySecret"
            found.append(Input("Secret", api_key.secret, field, (api_key.key,)))
        return found

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        found = env(
            CONFIG_STORE_PATH=_STORE_PATH,
            DEFAULT_CONFIG_ID="default",
            DEFAULT_LLM_PROVIDER="nim",
            NEMO_GUARDRAILS_SERVER_ENABLE_CORS="False",
            NEMO_GUARDRAILS_SERVER_ALLOWED_ORIGINS="*",
            GUARDRAILS_HOST="0.0.0.0",
            GUARDRAILS_PORT=str(self.ports["api"]),
            DEMO="False",
        )
        spec = self.spec
        if spec.model:
            found += env(NIM_ENDPOINT_URL=spec.model.url)
            if api_key := spec.model.api_key:
                found.append(secret_env(API_KEY, api_key.secret, api_key.key))
        if spec.database:
            found += self._database_env(spec.database)
        found += telemetry_env(spec.telemetry)
        if spec.telemetry:
            found += env(OTEL_RESOURCE_ATTRIBUTES="deployment.environment=$(NAMESPACE)")
        return found

    def init_containers(self) -> Items:
        """Init containers that wait for the database and migrate its tables."""
        database = self.spec.database
        if not database:
            return []
        variables = env(NAMESPACE=self.namespace, PYTHONPATH=_WORK_DIR)
        return migrate(
            self,
            database,
            "guardrail",
            command=["/app/.venv/bin/alembic"],
            args=["upgrade", "head"],
            workingDir=_WORK_DIR,
            env=[*variables, *self._database_env(database)],
        )

    def volumes(self) -> Items:
        """The volume with the rail configuration; NimError if the spec has none."""
        spec = self.spec
        if spec.claim:
            source: dict[str, t.Any] = {"persistentVolumeClaim": {"claimName": spec.claim.name}}
        elif spec.config_map:
            source = {"configMap": {"name": spec.config_map}}
        else:
            raise NimError(
                "spec.configStore: name a configMap or a pvc with the configuration of the rails",
                reason="DeploymentFailed",
            )
        return [{"name": _STORE, **source}]

    def mounts(self) -> Items:
        """The mount of the rail configuration."""
        claim = self.spec.claim
        sub_path = {"subPath": claim.sub_path} if claim else {}
        return [{"name": _STORE, "mountPath": _STORE_PATH, **sub_path}]

    def _database_env(self, database: Database) -> list[EnvVar]:
        return [
            database.password_env(),
            self.url_env("POSTGRES_URI"),
            self.url_env("DB_URI"),
        ]


KIND = nemo_kind(
    GuardrailApp,
    "NemoGuardrail",
    "nemoguard",
    finalizer_name="NemoGuardrail",
    access=(
        Access("PersistentVolumeClaim", "read write", "the configuration of the rails"),
        Access("ConfigMap", "read", "whether the configuration of the rails has changed"),
        Access("Secret", "write delete", "the URL of the database"),
    ),
)
