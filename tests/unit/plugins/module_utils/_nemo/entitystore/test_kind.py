# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

DATABASE = [
    "POSTGRES_PASSWORD<pg/password",
    "POSTGRES_USER=me",
    "POSTGRES_HOST=pg.ns.svc",
    "POSTGRES_PORT=5432",
    "POSTGRES_DB=db",
]


def test_env(nemo: t.Any) -> None:
    pod = nemo.pod("NemoEntitystore")
    assert nemo.rows(pod["containers"][0]["env"]) == [
        "APP_VERSION=25.10",
        "BASE_URL_DATASTORE=http://datastore:8000",
        *DATABASE,
    ]
    _wait, migration = pod["initContainers"]
    assert nemo.rows(migration["env"]) == DATABASE


def test_without_volumes_and_secrets(nemo: t.Any) -> None:
    made = nemo.made("NemoEntitystore")
    assert "Secret" not in made
    assert "volumes" not in made["Deployment"]["spec"]["template"]["spec"]
    app = nemo.app("NemoEntitystore")
    assert [(item.name, item.keys) for item in app.inputs()] == [("pg", ("password",))]
    assert app.spec.claim is None
