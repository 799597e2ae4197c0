# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NemoEntitystore: keeps the entities of NeMo microservices, such as projects and models."""

from __future__ import annotations

import typing as t

from ..._builders.env import EnvVar, env
from ..app import Items, NemoApp
from ..database import Database, wait_container
from ..kind import nemo_kind
from ..migration import migration
from ..probes import probe, startup


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

    def env(self) -> list[EnvVar]:
        """The variables of the container."""
        return [
            *env(
                APP_VERSION=self.fields["image"]["tag"],
                BASE_URL_DATASTORE=self.endpoint("datastore"),
            ),
            *_database_env(self.needed_database),
        ]

    def init_containers(self) -> Items:
        """The database must accept connections, and have the current tables."""
        database = self.needed_database
        return [
            wait_container(self, database, self.fields["image"], end=";"),
            migration(
                self,
                "entitystore",
                command=["/app/.venv/bin/python3"],
                args=["-m", "scripts.run_db_migration"],
                workingDir="/app/services/entity-store",
                env=_database_env(database),
            ),
        ]


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


KIND = nemo_kind(EntitystoreApp, "NemoEntitystore", finalizer_name="NemoEntitystore")
