# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Init containers that migrate the tables of a database."""

from __future__ import annotations

import shlex
import typing as t

from .app import Items, NemoApp
from .database import Database

_LIMITS = {"cpu": "1", "memory": "1Gi"}


def migrate(
    app: NemoApp, database: Database, service: str, *, wait_end: str = "", **fields: t.Any
) -> Items:
    """The init containers that wait for the database and then migrate its tables.

    ``fields``: command, variables and other fields of the second container. ``wait_end``: the
    command after the first container's loop, identical to the reference operator's.
    """
    migration = app.like_main(f"{service}-db-migration", **fields, resources={"limits": _LIMITS})
    return [_wait(app, database, wait_end), migration]


def _wait(app: NemoApp, database: Database, end: str) -> dict[str, t.Any]:
    host = shlex.quote(database.host)
    loop = (
        f'until nc -z {host} {database.port}; do echo "Waiting for Postgres to start "; sleep 5;'
        f" done{end}"
    )
    return {
        "name": "wait-for-postgres",
        "image": app.observed.wait_image,
        "imagePullPolicy": app.spec.image.pull_policy,
        "command": ["sh", "-c", loop],
    }
