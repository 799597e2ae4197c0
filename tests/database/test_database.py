# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Databases of nemo_dependencies on a real server, opened by a client with the pods' settings."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from nemo_platform import NAMESPACE, PASSWORDS, Platform
from nimops_harness.cluster import kubectl

URLS = {
    "nemo-customizer": ("customizer", "dsn"),
    "nemo-evaluator": ("evaluator", "uri"),
    "nemo-guardrails": ("guardrails", "uri"),
}
"""Database and key by the name of a resource whose pods get a URL."""
PARTS = {
    "nemo-entitystore": ("entitystore", "POSTGRES_{}", ("USER", "PASSWORD", "HOST", "DB")),
    "nemo-datastore": ("datastore", "GITEA__DATABASE__{}", ("USER", "PASSWD", "HOST", "NAME")),
}
"""Resources whose pods get the parts: the variables of user, password, host and database."""


def who(*url: str, **connection: Any) -> tuple[Any, ...]:
    """User and database of a connection, and whether it may create tables."""
    with psycopg.connect(*url, **connection, connect_timeout=5) as opened:
        opened.execute("CREATE TABLE IF NOT EXISTS proof (id int)")
        return opened.execute("SELECT current_user, current_database()").fetchone() or ()


def parts_of(platform: Platform, name: str) -> dict[str, Any]:
    _database, pattern, names = PARTS[name]
    env = platform.pod_env(name)
    user, password, host, database = (env[pattern.format(item)] for item in names)
    host, _colon, port = host.partition(":")
    port = port or env[pattern.format("PORT")]
    return {"user": user, "password": password, "host": host, "port": port, "dbname": database}


def counts(reported: str) -> str:
    return next(line for line in reported.splitlines() if line.startswith("localhost "))


@pytest.mark.parametrize("name", URLS)
def test_database_url(platform: Platform, name: str) -> None:
    database, key = URLS[name]
    url = platform.secret(name)[key]
    assert url in platform.pod_env(name).values()
    assert who(url) == (f"{database}_user", database)


@pytest.mark.parametrize("name", PARTS)
def test_database_parts(platform: Platform, name: str) -> None:
    database = PARTS[name][0]
    assert who(**parts_of(platform, name)) == (f"{database}_user", database)


def test_database_wrong_password(platform: Platform) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        who(**parts_of(platform, "nemo-datastore") | {"password": "Пароль @:/% ß€"})


def test_databases_missing_secret(platform: Platform) -> None:
    (values,) = platform.secret("nemo-guardrails-database").items()
    assert values[0] == "password"
    assert len(values[1]) >= 40
    assert f"changed Secret {NAMESPACE}/nemo-guardrails-database" in platform.first
    assert platform.first.count("changed Secret ") == 1
    assert {name: platform.secret(name)["password"] for name in PASSWORDS} == PASSWORDS


@pytest.mark.parametrize("source", ["files", "cluster"])
def test_databases_twice(platform: Platform, source: str) -> None:
    given = {"files": platform.write(*platform.resources())} if source == "files" else {}
    before = platform.sql("SELECT rolname, rolpassword FROM pg_authid ORDER BY 1")
    assert "changed=0 " in counts(platform.run("nemo_dependencies", **given))
    assert platform.sql("SELECT rolname, rolpassword FROM pg_authid ORDER BY 1") == before


def test_databases_check_mode(platform: Platform) -> None:
    files = platform.write(*platform.resources("_new"))
    kubectl("-n", NAMESPACE, "delete", "secret", "nemo-guardrails-database")
    reported = platform.run("nemo_dependencies", "--check", files=files)
    assert "changed=1 " in counts(reported)
    assert reported.count("would change ") == 1 + 5 + 5
    assert not platform.sql("SELECT 1 FROM pg_roles WHERE rolname LIKE '%_new'")
    found = kubectl("-n", NAMESPACE, "get", "secret", "-o", "name")
    assert "nemo-guardrails-database" not in found


def test_databases_changed_password(platform: Platform) -> None:
    files = platform.write(*platform.resources())
    old = platform.secret("nemo-customizer")["dsn"]
    platform.put_secret("nemo-customizer-database", password="new: @:/% é")
    reported = platform.run("nemo_dependencies", files=files)
    assert "changed user customizer_user" in reported
    platform.run("apply", files=files, wait=False)
    new = platform.secret("nemo-customizer")["dsn"]
    assert who(new) == ("customizer_user", "customizer")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        who(old)


def test_databases_administrator_without_superuser(platform: Platform) -> None:
    """An administrator like on managed servers, which also hide hashes."""
    login = {"user": "manager", "password": "manager@:/%"}
    platform.secrets.append(login["password"])
    platform.sql("CREATE ROLE manager LOGIN CREATEROLE CREATEDB PASSWORD 'manager@:/%'")
    kinds = ("NemoDatastore", "NemoEntitystore")
    managed = [item for item in platform.resources("_managed") if item["kind"] in kinds]
    files = platform.write(*managed)
    assert "changed=1 " in counts(platform.run("nemo_dependencies", files=files, login=login))
    given = parts_of(platform, "nemo-entitystore")
    mine = {"user": "entitystore_user_managed", "dbname": "entitystore_managed"}
    assert who(**given | mine) == tuple(mine.values())
    assert "changed=0 " in counts(platform.run("nemo_dependencies", files=files, login=login))
    platform.put_secret("nemo-entitystore-database", password="rotated@:/%")
    reported = platform.run("nemo_dependencies", files=files, login=login)
    assert "changed user entitystore_user_managed" in reported
    assert who(**given | mine | {"password": "rotated@:/%"}) == tuple(mine.values())


def test_databases_foreign_objects(platform: Platform) -> None:
    other = f"{NAMESPACE}-other"
    kubectl("create", "namespace", other)
    try:
        platform.put_secret("stolen", other, password="stolen")
        (resource,) = (item for item in platform.resources() if item["kind"] == "NemoEvaluator")
        database = resource["spec"]["databaseConfig"]
        database["credentials"]["secretName"] = "stolen"
        before = platform.sql("SELECT rolname, rolpassword FROM pg_authid ORDER BY 1")
        for user, name, wrong in (
            ("evaluator_user", "mine", "was not created for namespace nimops-database-other"),
            ("postgres", "mine", "administers the server"),
            ("mine", "evaluator", "belongs to 'evaluator_user'"),
            ("mine", "postgres", "belongs to 'postgres'"),
        ):
            database["credentials"]["user"], database["databaseName"] = user, name
            code, reported = platform.try_to_run(
                "nemo_dependencies", files=platform.write(resource), nim_namespace=other
            )
            assert (code, wrong in " ".join(reported.split())) == (2, True), reported
        assert platform.sql("SELECT rolname, rolpassword FROM pg_authid ORDER BY 1") == before
    finally:
        kubectl("delete", "namespace", other, "--wait=false")


def test_databases_adopt_user(platform: Platform) -> None:
    platform.sql("CREATE ROLE foreign_user LOGIN PASSWORD 'before'")
    resource = platform.resources()[0]
    database = resource["spec"]["databaseConfig"] | {"databaseName": "foreign_user"}
    database["credentials"]["user"] = "foreign_user"
    resource["spec"]["databaseConfig"] = database
    files = platform.write(resource)
    code, reported = platform.try_to_run("nemo_dependencies", files=files)
    assert (code, "set adopt" in reported) == (2, True), reported
    platform.run("nemo_dependencies", files=files, postgresql_adopt=True)
    password = platform.secret(database["credentials"]["secretName"])["password"]
    own = {"user": "foreign_user", "dbname": "foreign_user", "password": password}
    assert who(**platform.server.connection | own) == ("foreign_user", "foreign_user")
    assert "changed=0 " in counts(platform.run("nemo_dependencies", files=files))


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        pytest.param(
            {"nim_namespace": "nowhere"}, 'namespaces "nowhere" not found', id="namespace"
        ),
        pytest.param({"login": {"password": "no"}}, "password authentication failed", id="login"),
        pytest.param({"postgresql_login_port": 1}, "onnection refused", id="server"),
        pytest.param(
            {"definition": {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}},
            "there is no custom resource",
            id="no NeMo resource",
        ),
        pytest.param({"key": "absent"}, "has no key 'absent'", id="key"),
    ],
)
def test_databases_bad_input(platform: Platform, change: dict[str, Any], wrong: str) -> None:
    resources = platform.resources("_bad")
    if key := change.get("key"):
        resources[0]["spec"]["databaseConfig"]["credentials"]["passwordKey"] = key
    given = {} if "definition" in change else {"files": platform.write(*resources)}
    given |= {name: value for name, value in change.items() if name != "key"}
    code, reported = platform.try_to_run("nemo_dependencies", **given)
    assert (code, wrong in reported) == (2, True), reported


def test_databases_print_no_password(platform: Platform) -> None:
    """The output of all runs so far (with -vvv --diff) contains no form of a password."""
    assert len(platform.output) >= 4
    passwords = {item for item in platform.secrets if len(item) > 6}
    assert len(passwords) >= len(PASSWORDS) + 2
    for password in passwords:
        encoded = base64.b64encode(password.encode()).decode()
        forms = {password, quote(password, safe=""), encoded, json.dumps(password)[1:-1]}
        for reported in platform.output:
            assert [form for form in forms if form in reported] == []
