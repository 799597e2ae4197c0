# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import (
    SecretPlaceholder,
)
from ansible_collections.nimops.nim.plugins.module_utils._nemo.database import Database
from ansible_collections.nimops.nim.plugins.module_utils._nemo.spec import parse_database

Json = dict[str, t.Any]


def database(nemo: t.Any, credentials: Json | None = None, **fields: t.Any) -> Database:
    given = nemo.database["credentials"] | (credentials or {})
    return parse_database(nemo.database | fields | {"credentials": given})


def test_parse_database_defaults(nemo: t.Any) -> None:
    found = database(nemo)
    assert (found.port, found.key) == (5432, "password")
    needed = found.input(is_copied=True)
    assert (needed.name, needed.keys, needed.is_copied) == ("pg", ("password",), True)
    given = database(nemo, {"passwordKey": "pw"}, port=6432)
    assert (given.port, given.key) == (6432, "pw")


@pytest.mark.parametrize(
    ("credentials", "fields", "before", "after"),
    [
        pytest.param({}, {}, "me:", "@pg.ns.svc:5432/db", id="plain"),
        pytest.param({"user": "me@corp:1"}, {}, "me%40corp%3A1:", "@pg.ns.svc:5432/db", id="user"),
        pytest.param(
            {}, {"databaseName": "a/b?c=d"}, "me:", "@pg.ns.svc:5432/a%2Fb%3Fc%3Dd", id="name"
        ),
        pytest.param({}, {"host": "fd00::1"}, "me:", "@[fd00::1]:5432/db", id="IPv6"),
        pytest.param({}, {"host": "[fd00::1]"}, "me:", "@[fd00::1]:5432/db", id="IPv6 in brackets"),
        pytest.param({}, {"host": "fe80::1%e0"}, "me:", "@[fe80::1%25e0]:5432/db", id="zone"),
    ],
)
def test_url(nemo: t.Any, credentials: Json, fields: Json, before: str, after: str) -> None:
    wanted = SecretPlaceholder("pg", "password", f"postgresql://{before}", after)
    assert database(nemo, credentials, **fields).url == wanted


@pytest.mark.parametrize(
    "host",
    [
        *("a; reboot", "$(id)", "`id`", "a\nb", "a\n", "a'b", "a@b", "a/b", "pg?x", "pä", "-e"),
        *("pg:5432", "db:5432", "[pg]", "[::1", "::1]:5432", "fe80::1%$(id)", "%e0", "a,b"),
    ],
)
@pytest.mark.parametrize(
    "kind", ["NemoDatastore", "NemoEntitystore", "NemoEvaluator", "NemoGuardrail"]
)
def test_host_invalid(nemo: t.Any, kind: str, host: str) -> None:
    with pytest.raises(NimError, match=r"^spec\.databaseConfig\.host: .* is neither"):
        nemo.made(kind, {"databaseConfig": nemo.database | {"host": host}})


def test_secret(nemo: t.Any) -> None:
    app = nemo.app("NemoEvaluator", {"labels": {"team": "a"}, "annotations": {"a": "b"}})
    found = app.secret()
    assert found["data"] == {"uri": database(nemo).url.placeholder}
    assert found["metadata"]["labels"] == app.labels
    assert app.labels["team"] == "a"
    assert "annotations" not in found["metadata"]
    assert nemo.rows([app.url_env("DB_URI")]) == ["DB_URI<x/uri"]
