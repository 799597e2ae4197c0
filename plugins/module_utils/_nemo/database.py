# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`spec.databaseConfig`: the PostgreSQL database of a NeMo service."""

from __future__ import annotations

import re
import shlex
import typing as t
from functools import cached_property
from ipaddress import IPv6Address
from urllib.parse import quote

from .._base.errors import NimError
from .._base.types import Manifest
from .._builders.app import App
from .._builders.env import EnvVar, secret_env
from .._builders.inputs import Input
from .._engine.sealed import SealedText
from .fields import text_of

DEFAULT_PORT = 5432
DEFAULT_KEY = "password"
WAIT_CONTAINER = "wait-for-postgres"

_FIELD = "spec.databaseConfig"
_HOST = re.compile(r"[a-zA-Z0-9_][-._a-zA-Z0-9]*")
"""A name, or an IPv4 address."""
_IPV6 = re.compile(r"[0-9a-fA-F:.]+(%[-._a-zA-Z0-9]+)?")
"""An IPv6 address, as far as its characters tell; the part after % is its zone."""


class Database:
    """The database; missing fields have the documented default."""

    def __init__(self, fields: t.Mapping[str, t.Any]) -> None:
        self.fields = fields

    @cached_property
    def host(self) -> str:
        """The host; NimError if no host can have such a name."""
        host = str(self.fields["host"])
        if not _HOST.fullmatch(host) and not _is_ipv6(host):
            raise NimError(
                f"{_FIELD}.host: {host[:100]!r} is neither the name nor the address of a host"
                f" (its port is {_FIELD}.port)"
            )
        return host

    @property
    def port(self) -> int:
        """The port."""
        return int(self.fields.get("port") or DEFAULT_PORT)

    @property
    def address(self) -> str:
        """`host:port`."""
        is_bare = ":" in self.host and "[" not in self.host
        return f"[{self.host}]:{self.port}" if is_bare else f"{self.host}:{self.port}"

    @property
    def name(self) -> str:
        """The name of the database."""
        return str(self.fields["databaseName"])

    @property
    def user(self) -> str:
        """The user."""
        return str(self._credentials["user"])

    @property
    def secret(self) -> str:
        """The Secret with the password."""
        return str(self._credentials["secretName"])

    @property
    def key(self) -> str:
        """The key of the password."""
        return text_of(self._credentials, "passwordKey", DEFAULT_KEY)

    def input(self, *, is_copied: bool) -> Input:
        """The Secret with the password, as an input of the service."""
        field = f"{_FIELD}.credentials"
        return Input("Secret", self.secret, field, (self.key,), is_copied=is_copied)

    def password_env(self, name: str = "POSTGRES_DB_PASSWORD") -> EnvVar:
        """A variable with the password."""
        return secret_env(name, self.secret, self.key)

    @property
    def url(self) -> SealedText:
        """`postgresql://user:password@host:port/name`, each part percent-encoded."""
        user, name = (quote(part, safe="") for part in (self.user, self.name))
        address = self.address.replace("%", "%25")
        return SealedText(self.secret, self.key, f"postgresql://{user}:", f"@{address}/{name}")

    @property
    def _credentials(self) -> t.Mapping[str, t.Any]:
        return t.cast("t.Mapping[str, t.Any]", self.fields["credentials"])


def _is_ipv6(host: str) -> bool:
    """Whether it is an IPv6 address, maybe in brackets."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return bool(_IPV6.fullmatch(bare) and IPv6Address(bare))
    except ValueError:
        return False


def url_secret(app: App, database: Database, key: str) -> Manifest:
    """The Secret that has the connection URL under a key; pods refer to it."""
    return app.child("Secret", annotations={}, data={key: database.url.placeholder})


def url_env(app: App, name: str, key: str) -> EnvVar:
    """A variable with the connection URL."""
    return secret_env(name, app.name, key)


def wait_container(
    app: App, database: Database, image: t.Mapping[str, t.Any], end: str = ""
) -> dict[str, t.Any]:
    """The init container that waits until the database accepts connections.

    ``end``: what follows the loop, which is part of how pods of the reference operator look.
    """
    host = shlex.quote(database.host)
    loop = (
        f'until nc -z {host} {database.port}; do echo "Waiting for Postgres to start "; sleep 5;'
        f" done{end}"
    )
    return {
        "name": WAIT_CONTAINER,
        "image": app.observed.wait_image,
        "imagePullPolicy": image.get("pullPolicy"),
        "command": ["sh", "-c", loop],
    }
