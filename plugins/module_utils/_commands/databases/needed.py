# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The databases and users that NeMo resources need."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..._base.errors import NimError
from ..._base.types import Json
from ..._kinds import kind_names
from ..._nemo.spec import parse_database
from ..schema import schema_of

_MAX_BYTES = 63  # PostgreSQL truncates longer names
_FORBIDDEN = re.compile("[\"'%\\\\\x00-\x1f\x7f]")
"""Characters that some modules of community.postgresql do not pass to SQL unchanged."""
_RESERVED = frozenset({"none", "public"})


@dataclass(frozen=True)
class NeededDatabase:
    """A database of a resource. ``server``: `host:port`, as used by the pods."""

    resource: str
    namespace: str
    server: str
    name: str
    user: str
    secret: str
    key: str


def kinds_with_database() -> list[str]:
    """The kinds that have `spec.databaseConfig`."""
    specs = {kind: schema_of(kind)["properties"]["spec"]["properties"] for kind in kind_names()}
    return [kind for kind, fields in specs.items() if "databaseConfig" in fields]


def needed_databases(resources: t.Iterable[Json], hosts: t.Collection[str]) -> list[NeededDatabase]:
    """The databases of these resources, sorted; resources of other kinds are skipped.

    ``hosts``: selects databases on these hosts; empty for all, which must then be on one server.
    NimError if there are none, or if names are unusable or conflict.
    """
    kinds = kinds_with_database()
    every = [
        _needed(item)
        for item in resources
        if item["kind"] in kinds and item["spec"].get("databaseConfig")
    ]
    if not every:
        raise NimError(f"there is no {', '.join(kinds)} with spec.databaseConfig")
    wanted = {host.strip("[]") for host in hosts}
    found = [item for item in every if not hosts or _host_of(item) in wanted]
    if not found:
        known = ", ".join(sorted({_host_of(item) for item in every}))
        raise NimError(f"no database is on {', '.join(hosts)}: the resources name {known}")
    _require_one_server(found, hosts)
    _require_one_owner(found)
    return sorted(found, key=lambda item: (item.user, item.name, item.resource))


def _needed(resource: Json) -> NeededDatabase:
    metadata = resource["metadata"]
    where = f"{resource['kind']} {metadata['namespace']}/{metadata['name']}"
    database = parse_database(resource["spec"]["databaseConfig"])
    for field, name in (("databaseName", database.name), ("credentials.user", database.user)):
        if problem := _name_problem(name):
            raise NimError(f"{where}: spec.databaseConfig.{field}: {name[:100]!r} {problem}")
    return NeededDatabase(
        where,
        metadata["namespace"],
        database.address,
        database.name,
        database.user,
        database.secret,
        database.key,
    )


def _name_problem(name: str) -> str:
    """Why the name is not allowed for a user or database; empty if it is."""
    if found := _FORBIDDEN.search(name):
        return f"has {found[0]!r}; use letters, digits, _ and -"
    if len(name.encode()) > _MAX_BYTES:
        return f"has more than {_MAX_BYTES} bytes"
    if name.lower() in _RESERVED or name.lower().startswith("pg_"):
        return "is reserved by PostgreSQL"
    return ""


def _host_of(needed: NeededDatabase) -> str:
    return needed.server.rpartition(":")[0].strip("[]")


def _require_one_server(found: list[NeededDatabase], hosts: t.Collection[str]) -> None:
    """NimError unless all databases are on one server: they are all created on the given one."""
    servers = {item.server: item.resource for item in found}
    if len(servers) > 1 and not hosts:
        shown = ", ".join(f"{server} ({who})" for server, who in sorted(servers.items()))
        raise NimError(
            f"the resources name several servers: {shown}; select what belongs on this one with"
            " database_hosts"
        )


def _require_one_owner(found: list[NeededDatabase]) -> None:
    """NimError unless each user belongs to one namespace, and each database to one user."""
    for which, owner in (("user", "namespace"), ("name", "user")):
        first: dict[str, NeededDatabase] = {}
        for item in found:
            other = first.setdefault(getattr(item, which), item)
            if getattr(other, owner) != getattr(item, owner):
                raise NimError(
                    f"{other.resource} and {item.resource} share the"
                    f" {'user' if which == 'user' else 'database'} {getattr(item, which)!r}, but"
                    f" not the {owner}: give one of them another"
                )
