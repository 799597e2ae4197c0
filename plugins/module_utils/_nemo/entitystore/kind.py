# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoEntitystore: stores the entities of NeMo microservices, such as projects and models."""

from __future__ import annotations

import typing as t
from functools import cached_property

from ..._builders.env import EnvVar, env
from ..app import Items, NemoApp
from ..database import Database
from ..kind import nemo_kind
from ..migration import migrate
from ..probes import probe, startup
from .spec import Spec, parse_spec


class EntitystoreApp(NemoApp):
    """The context of a pass over a NemoEntitystore."""

    part_of = "nemo-entitystore-service"
    selected_by = ("app", "app.kubernetes.io/name", "app.kubernetes.io/instance")
    ports: t.ClassVar = {"api": 8000}
    probes: t.ClassVar = {
        "livenessProbe": probe("/health", 3, 10, 20),
        "readinessProbe": probe("/health", 10, 20, 20),
        "startupProbe": startup("/health"),
    }

    @cached_property
    def spec(self) -> Spec:
        """The spec."""
        return parse_spec(self.resource)

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        return [
            *env(
                APP_VERSION=self.spec.image.tag,
                BASE_URL_DATASTORE=self.spec.datastore,
            ),
            *_database_env(self.spec.database),
        ]

    def init_containers(self) -> Items:
        """Init containers that wait for the database and migrate its tables."""
        return migrate(
            self,
            self.spec.database,
            "entitystore",
            wait_end=";",
            command=["/app/.venv/bin/python3"],
            args=["-m", "scripts.run_db_migration"],
            workingDir="/app/services/entity-store",
            env=_database_env(self.spec.database),
        )


def _database_env(database: Database) -> list[EnvVar]:
    return [
        database.password_env("POSTGRES_PASSWORD"),
        *env(
            POSTGRES_USER=database.user,
            POSTGRES_HOST=database.host,
            POSTGRES_PORT=str(database.port),
            POSTGRES_DB=database.name,
        ),
    ]


KIND = nemo_kind(EntitystoreApp, "NemoEntitystore", "nemoes", finalizer_name="NemoEntitystore")
