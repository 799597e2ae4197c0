# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The PostgreSQL database of a NeMo service."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv6Address
from urllib.parse import quote

from .._base.errors import NimError
from .._builders.env import EnvVar, secret_env
from .._builders.inputs import Input
from .._engine.secret_placeholders import SecretPlaceholder

_FIELD = "spec.databaseConfig"
_HOST = re.compile(r"[a-zA-Z0-9_][-._a-zA-Z0-9]*")
"""A host name or an IPv4 address."""
_IPV6 = re.compile(r"[0-9a-fA-F:.]+(%[-._a-zA-Z0-9]+)?")
"""The characters of an IPv6 address; the part after % is its zone."""


@dataclass(frozen=True)
class Database:
    """`spec.databaseConfig`. ``secret`` and ``key``: the Secret and key of the password.

    Use `host`: ``given_host`` is not validated.
    """

    given_host: str
    port: int
    name: str
    user: str
    secret: str
    key: str

    @cached_property
    def host(self) -> str:
        """The host; NimError if it is not a valid host name or address."""
        host = self.given_host
        if not _HOST.fullmatch(host) and not _is_ipv6(host):
            raise NimError(
                f"{_FIELD}.host: {host[:100]!r} is neither the name nor the address of a host"
                f" (its port is {_FIELD}.port)"
            )
        return host

    @property
    def address(self) -> str:
        """`host:port`."""
        is_bare = ":" in self.host and "[" not in self.host
        return f"[{self.host}]:{self.port}" if is_bare else f"{self.host}:{self.port}"

    @property
    def url(self) -> SecretPlaceholder:
        """`postgresql://user:password@host:port/name`, each part percent-encoded."""
        user, name = (quote(part, safe="") for part in (self.user, self.name))
        address = self.address.replace("%", "%25")
        return SecretPlaceholder(
            self.secret, self.key, f"postgresql://{user}:", f"@{address}/{name}"
        )

    def input(self, *, is_copied: bool) -> Input:
        """The Secret with the password, as an input of the service."""
        field = f"{_FIELD}.credentials"
        return Input("Secret", self.secret, field, (self.key,), is_copied=is_copied)

    def password_env(self, name: str = "POSTGRES_DB_PASSWORD") -> EnvVar:
        """An environment variable with the password."""
        return secret_env(name, self.secret, self.key)


def _is_ipv6(host: str) -> bool:
    """Whether the host is an IPv6 address, with or without brackets."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return bool(_IPV6.fullmatch(bare) and IPv6Address(bare))
    except ValueError:
        return False
