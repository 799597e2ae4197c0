# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passwords of database users: read from Secrets, or generated where a Secret is missing."""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import typing as t
from dataclasses import dataclass, field

from ..._base.errors import ApiError, NimError
from ..._cluster.client import Client
from ..._engine.api_resources import api_path, manifest
from ..._engine.metadata import FIELD_MANAGER
from ..._engine.plan import NO_VERSION
from .needed import NeededDatabase

_HASH = re.compile(r"md5[0-9a-f]{32}|SCRAM-SHA-256\$.*", re.DOTALL)
"""The form of a hash in PostgreSQL, which therefore rejects the text as a password."""
_NEW_BYTES = 32


@dataclass
class Passwords:
    """``of``: password by user. ``missing``: data by namespace and name of each missing Secret."""

    of: dict[str, str] = field(repr=False)
    missing: dict[tuple[str, str], dict[str, str]] = field(repr=False)


def read_passwords(client: Client, needed: t.Iterable[NeededDatabase]) -> Passwords:
    """Read the Secrets, and generate passwords for users without a Secret.

    NimError if a Secret has no usable password, or if Secrets of one user differ.
    """
    first: dict[str, tuple[str, str]] = {}
    absent = []
    for item in needed:
        password = _read(client, item)
        if password is None:
            absent.append(item)
            continue
        resource, other = first.setdefault(item.user, (item.resource, password))
        if other != password:
            raise NimError(
                f"{resource} and {item.resource} share the user {item.user!r}, but their Secrets"
                " have different passwords: use one Secret, or two users"
            )
    found = {user: password for user, (_resource, password) in first.items()}
    missing: dict[tuple[str, str], dict[str, str]] = {}
    for item in absent:
        password = found.setdefault(item.user, secrets.token_urlsafe(_NEW_BYTES))
        missing.setdefault((item.namespace, item.secret), {})[item.key] = password
    return Passwords(found, missing)


def create_secrets(client: Client, passwords: Passwords, *, dry: bool) -> list[str]:
    """Create the missing Secrets, or only check by a dry run; returns their names.

    NimError if the namespace does not exist. A Secret created meanwhile is not changed.
    """
    for (namespace, name), values in passwords.missing.items():
        data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
        metadata = {"resourceVersion": NO_VERSION}
        secret = manifest("Secret", name, namespace, metadata=metadata, type="Opaque", data=data)
        try:
            client.apply(api_path("Secret", namespace, name), secret, FIELD_MANAGER, dry=dry)
        except ApiError as error:
            if not error.status:
                raise
            raise NimError(f"Secret {namespace}/{name} cannot be created: {error}") from error
    return [f"{namespace}/{name}" for namespace, name in passwords.missing]


def _read(client: Client, needed: NeededDatabase) -> str | None:
    """The password in a Secret, or None if the Secret does not exist."""
    found = client.get_whole(api_path("Secret", needed.namespace, needed.secret))
    if found is None:
        return None
    where = f"{needed.resource}: Secret {needed.namespace}/{needed.secret}"
    value = (found.get("data") or {}).get(needed.key)
    if value is None:
        raise NimError(f"{where} has no key {needed.key!r}: add it, or delete the Secret")
    try:
        password = base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise NimError(f"{where}: the value of {needed.key!r} is not text in UTF-8") from error
    if not password or "\0" in password or _HASH.fullmatch(password):
        raise NimError(f"{where}: the value of {needed.key!r} is empty, a hash, or has a zero byte")
    return password
