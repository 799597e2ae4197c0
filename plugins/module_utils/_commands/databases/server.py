# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Access to a PostgreSQL server through the modules of community.postgresql.

Names come from resources, which tenants write, and the code runs as the server's administrator. So
it only changes users that it created for the same namespace, and databases of these users.
"""

from __future__ import annotations

import secrets
import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Json
from .needed import NeededDatabase

RunModule = t.Callable[[str, Json], Json]
"""Runs a module of community.postgresql by its short name; returns the result, even if failed."""

_QUERIES = [
    "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user",
    "SELECT rolname, rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls"
    " AS is_administrator, shobj_description(oid, 'pg_authid') AS comment FROM pg_roles",
    "SELECT datname, pg_get_userbyid(datdba) AS owner FROM pg_database",
]


@dataclass(frozen=True)
class ServerContents:
    """The users and databases of a server. ``me``: the user of the connection."""

    me: str
    is_superuser: bool
    users: dict[str, Json]
    owners: dict[str, str]
    """The owner of each database, by its name."""


def mark_of(namespace: str) -> str:
    """The comment on users that belong to a namespace."""
    return f"nimops.nim: namespace {namespace}"


class Server:
    """A server, and the account that administers it."""

    def __init__(self, run: RunModule, login: Json) -> None:
        """``login``: the connection options, which all these modules share."""
        self._run = run
        self._login = login

    def inspect(self) -> ServerContents:
        """Read the users and databases; NimError if a query fails."""
        results = self._do("", "postgresql_query", query=_QUERIES)["query_all_results"]
        (me,), users, databases = results
        return ServerContents(
            me["rolname"],
            me["rolsuper"],
            {user["rolname"]: user for user in users},
            {database["datname"]: database["owner"] for database in databases},
        )

    def make_user(self, user: str, namespace: str, password: str, found: ServerContents) -> bool:
        """Create a user, or correct its password; returns whether anything changed."""
        fields: Json = {"role_attr_flags": "LOGIN", "comment": mark_of(namespace)}
        # postgresql_user compares hashes if it can read them, but fails for some characters.
        is_compared = found.is_superuser and password.isascii()
        if user not in found.users or is_compared or not self._opens(user, password):
            fields["password"] = password
        return bool(self._do(f"user {user!r}: ", "postgresql_user", name=user, **fields)["changed"])

    def make_database(self, name: str, user: str, found: ServerContents, *, dry: bool) -> bool:
        """Create a database of a user; returns whether it was missing."""
        if name in found.owners:
            return False
        where = f"database {name!r}: "
        if not (found.is_superuser or dry):
            # Only superusers can give a database to a role that they cannot assume. The membership
            # that PostgreSQL 16 adds by itself does not allow assuming the role.
            self._do(where, "postgresql_query", query=f'GRANT "{user}" TO "{found.me}"')
        login = {key: value for key, value in self._login.items() if key != "login_db"}
        if database := self._login.get("login_db"):
            login["maintenance_db"] = database
        self._do(where, "postgresql_db", login, name=name, owner=user)
        return True

    def _opens(self, user: str, password: str) -> bool:
        """Whether the server accepts this password and no other (it may trust its own host)."""
        return self._answers(user, password) and not self._answers(user, secrets.token_hex())

    def _answers(self, user: str, password: str) -> bool:
        login = self._login | {"login_user": user, "login_password": password}
        return bool(self._run("postgresql_ping", login).get("is_available"))

    def _do(self, where: str, module: str, login: Json | None = None, **fields: t.Any) -> Json:
        result = self._run(module, (self._login if login is None else login) | fields)
        if result.get("failed"):
            # Psycopg appends the statement, which may contain a quoted password.
            message = str(result.get("msg") or "it failed").partition("\nLINE ")[0].strip()
            raise NimError(f"PostgreSQL: {where}{message}")
        return result


def require_ours(needed: t.Iterable[NeededDatabase], found: ServerContents, *, adopt: bool) -> None:
    """NimError if these resources may not use an existing user or database.

    ``adopt``: allow changes to users that were created by other means.
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


def _require_user(item: NeededDatabase, user: Json, found: ServerContents, *, adopt: bool) -> None:
    where = f"{item.resource}: the user {item.user!r}"
    if item.user == found.me or user["is_administrator"]:
        raise NimError(f"{where} administers the server: name a dedicated user")
    if user["comment"] != mark_of(item.namespace) and not adopt:
        raise NimError(
            f"{where} exists, and was not created for namespace {item.namespace}: name another, or"
            " set adopt if its password may be replaced"
        )
