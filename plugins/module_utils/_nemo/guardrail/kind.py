# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoGuardrail: checks what goes into a model and what comes out of it."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._builders.env import EnvVar, env, secret_env
from ..._builders.inputs import Input
from ..._engine.kind import Access
from ..app import Claim, Items, NemoApp
from ..database import Database, url_env, wait_container
from ..fields import text_of
from ..kind import nemo_kind
from ..migration import migration
from ..probes import probe, startup
from ..telemetry import telemetry_env

_STORE, _STORE_PATH = "config-store", "/config-store"
_DEFAULT_SUB_PATH = "guardrails-config-store"
_WORK_DIR = "/app/services/guardrails"
_API_KEY = "NIM_ENDPOINT_API_KEY"


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

    @property
    def claim(self) -> Claim | None:
        """The claim with the configuration of the rails."""
        given = self.block("configStore").get("pvc")
        if given is None:
            return None
        return Claim(given, given.get("name") or f"{self.name}-pvc", "spec.configStore.pvc")

    def inputs(self) -> list[Input]:
        """The configuration of the rails, the key of the model, and the password."""
        found = super().inputs()
        if self._config_map:
            found.append(Input("ConfigMap", self._config_map, "spec.configStore.configMap.name"))
        if secret := self._endpoint.get("apiKeySecret"):
            found.append(Input("Secret", secret, "spec.nimEndpoint.apiKeySecret", (self._api_key,)))
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
        if self._endpoint:
            found += env(NIM_ENDPOINT_URL=self._endpoint["baseURL"])
        if secret := self._endpoint.get("apiKeySecret"):
            found.append(secret_env(_API_KEY, secret, self._api_key))
        if self.database:
            found += self._database_env(self.database)
        return [*found, *self._telemetry_env()]

    def init_containers(self) -> Items:
        """The database must accept connections, and have the current tables."""
        if not self.database:
            return []
        variables = env(NAMESPACE=self.namespace, PYTHONPATH=_WORK_DIR)
        return [
            wait_container(self, self.database, self.fields["image"]),
            migration(
                self,
                "guardrail",
                command=["/app/.venv/bin/alembic"],
                args=["upgrade", "head"],
                workingDir=_WORK_DIR,
                env=[*variables, *self._database_env(self.database)],
            ),
        ]

    def volumes(self) -> Items:
        """The configuration of the rails; NimError without any."""
        if self.claim:
            source: dict[str, t.Any] = {"persistentVolumeClaim": {"claimName": self.claim.name}}
        elif self._config_map:
            source = {"configMap": {"name": self._config_map}}
        else:
            raise NimError(
                "spec.configStore: name a configMap or a pvc with the configuration of the rails",
                reason="DeploymentFailed",
            )
        return [{"name": _STORE, **source}]

    def mounts(self) -> Items:
        """The configuration of the rails."""
        mount = {"name": _STORE, "mountPath": _STORE_PATH}
        if not self.claim:
            return [mount]
        return [mount | {"subPath": self.claim.given.get("subPath") or _DEFAULT_SUB_PATH}]

    @property
    def _config_map(self) -> str:
        return str((self.block("configStore").get("configMap") or {}).get("name") or "")

    @property
    def _endpoint(self) -> t.Mapping[str, t.Any]:
        return self.block("nimEndpoint")

    @property
    def _api_key(self) -> str:
        return text_of(self._endpoint, "apiKeyKey", _API_KEY)

    def _database_env(self, database: Database) -> list[EnvVar]:
        return [
            database.password_env(),
            url_env(self, "POSTGRES_URI", self.url_key),
            url_env(self, "DB_URI", self.url_key),
        ]

    def _telemetry_env(self) -> list[EnvVar]:
        found = telemetry_env(self.fields.get("otel"))
        if self.block("otel").get("enabled"):
            found += env(OTEL_RESOURCE_ATTRIBUTES="deployment.environment=$(NAMESPACE)")
        return found


KIND = nemo_kind(
    GuardrailApp,
    "NemoGuardrail",
    finalizer_name="NemoGuardrail",
    access=(
        Access("PersistentVolumeClaim", "read write", "the configuration of the rails"),
        Access("ConfigMap", "read", "whether the configuration of the rails has changed"),
        Access("Secret", "write delete", "the URL of the database"),
    ),
)
