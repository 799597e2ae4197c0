# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A PostgreSQL server, through the modules of community.postgresql.

Names come from resources, which their owners write, and this acts as an administrator of the
server: so it changes only users that it has made for the same namespace, and databases of these.
"""

from __future__ import annotations

import secrets
import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Json
from .needed import NeededDatabase

RunModule = t.Callable[[str, Json], Json]
"""Runs a module of community.postgresql by its short name; its result, also a failed one."""

_QUERIES = [
    "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user",
    "SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
    " AS is_administrator, shobj_description(oid, 'pg_authid') AS comment FROM pg_roles",
    "SELECT datname, pg_get_userbyid(datdba) AS owner FROM pg_database",
]


@dataclass(frozen=True)
class Found:
    """What a server has. ``me``: the user that asks."""

    me: str
    is_superuser: bool
    users: dict[str, Json]
    owners: dict[str, str]
    """Users by the databases that they own."""


def mark_of(namespace: str) -> str:
    """The comment of users that belong to a namespace."""
    return f"nimops.nim: namespace {namespace}"


class Server:
    """A server, and the account that administers it."""

    def __init__(self, run: RunModule, login: Json) -> None:
        """``login``: the options of all these modules about the connection."""
        self._run = run
        self._login = login

    def look(self) -> Found:
        """What is there; NimError if the server cannot be asked."""
        results = self._do("", "postgresql_query", query=_QUERIES)["query_all_results"]
        (me,), users, databases = results
        return Found(
            me["rolname"],
            me["rolsuper"],
            {user["rolname"]: user for user in users},
            {database["datname"]: database["owner"] for database in databases},
        )

    def make_user(self, user: str, namespace: str, password: str, found: Found) -> bool:
        """Create a user, or correct its password; whether anything was changed."""
        fields: Json = {"role_attr_flags": "LOGIN", "comment": mark_of(namespace)}
        # postgresql_user compares hashes if it can read them, but not those of some characters.
        is_compared = found.is_superuser and password.isascii()
        if user not in found.users or is_compared or not self._opens(user, password):
            fields["password"] = password
        return bool(self._do(f"user {user!r}: ", "postgresql_user", name=user, **fields)["changed"])

    def make_database(self, name: str, user: str, found: Found, *, dry: bool) -> bool:
        """Create a database of a user; whether it was missing."""
        if name in found.owners:
            return False
        where = f"database {name!r}: "
        if not (found.is_superuser or dry):
            # Others than superusers give databases only to those whose role they may take. The
            # membership that PostgreSQL 16 adds by itself is not one of these.
            self._do(where, "postgresql_query", query=f'GRANT "{user}" TO "{found.me}"')
        login = {key: value for key, value in self._login.items() if key != "login_db"}
        if database := self._login.get("login_db"):
            login["maintenance_db"] = database
        self._do(where, "postgresql_db", login, name=name, owner=user)
        return True

    def _opens(self, user: str, password: str) -> bool:
        """Whether the server accepts a password, and not any other, as it may from its own host."""
        return self._answers(user, password) and not self._answers(user, secrets.token_hex())

    def _answers(self, user: str, password: str) -> bool:
        login = self._login | {"login_user": user, "login_password": password}
        return bool(self._run("postgresql_ping", login).get("is_available"))

    def _do(self, where: str, module: str, login: Json | None = None, **fields: t.Any) -> Json:
        result = self._run(module, (self._login if login is None else login) | fields)
        if result.get("failed"):
            # Psycopg adds the statement, which may have a password in quotes.
            message = str(result.get("msg") or "it failed").partition("\nLINE ")[0].strip()
            raise NimError(f"PostgreSQL: {where}{message}")
        return result


def require_ours(needed: t.Iterable[NeededDatabase], found: Found, *, adopt: bool) -> None:
    """NimError if a user or a database on the server is not what these resources may have.

    ``adopt``: users that somebody else has made may be changed, too.
    """
    for item in needed:
        if user := found.users.get(item.user):
            _require_user(item, user, found, adopt=adopt)
        owner = found.owners.get(item.name, item.user)
        if owner != item.user:
            raise NimError(
                f"{item.resource}: the database {item.name!r} exists and belongs to {owner!r}: name"
                f" another, or give it to {item.user!r} yourself"
            )


def _require_user(item: NeededDatabase, user: Json, found: Found, *, adopt: bool) -> None:
    where = f"{item.resource}: the user {item.user!r}"
    if item.user == found.me or user["is_administrator"]:
        raise NimError(f"{where} administers the server: name one of its own")
    if user["comment"] != mark_of(item.namespace) and not adopt:
        raise NimError(
            f"{where} exists, and was not made for namespace {item.namespace}: name another, or, if"
            " its password may be replaced, set adopt"
        )
