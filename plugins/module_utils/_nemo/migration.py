# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The init container that brings the tables of a database up to date."""

from __future__ import annotations

import typing as t

from .app import NemoApp

_LIMITS = {"cpu": "1", "memory": "1Gi"}


def migration(app: NemoApp, service: str, **fields: t.Any) -> dict[str, t.Any]:
    """The init container; ``fields`` are its command, variables and the like."""
    return app.like_main(f"{service}-db-migration", **fields, resources={"limits": _LIMITS})
