# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The registries of a user: credentials, mirrors, authorities, and how to reach them."""

from __future__ import annotations

import base64
import os
import typing as t
from pathlib import Path

from ..._base.errors import NimError
from ..._base.types import Json
from ..._http.image_registry import find_credentials
from ..._http.registry_auth import RegistryError
from ..._http.registry_client import Access, RegistryClient

REGISTRY_SPEC: Json = {
    "auth_file": {"type": "path"},
    "ca_file": {"type": "path"},
    "plain_http": {"type": "list", "elements": "str", "default": []},
}
"""The options of commands that access registries."""

_MAX_FILE = 4 << 20


class Registries:
    """Clients by host, which share what the options say."""

    def __init__(self, arguments: Json) -> None:
        config = _read_auth(arguments["auth_file"])
        authorities = read_authorities(arguments)
        self._access = Access(
            find_credentials=lambda host: find_credentials([config] if config else [], host),
            plain=frozenset(arguments["plain_http"] or ()),
            authorities=[authorities] if authorities else [],
        )
        self._clients: dict[str, RegistryClient] = {}
        self._check()

    def client_of(self, host: str) -> RegistryClient:
        """The client of a registry."""
        if host not in self._clients:
            self._clients[host] = RegistryClient(host, self._access)
        return self._clients[host]

    def _check(self) -> None:
        try:
            self._access.make_context()
        except RegistryError as error:
            raise NimError(f"ca_file: {error}") from error


def read_authorities(arguments: Json) -> str:
    """The PEM text of the authorities to trust; empty without."""
    file = arguments["ca_file"]
    return _read(Path(file).expanduser(), "ca_file") if file else ""


def _read_auth(given: str | None) -> str:
    """The credentials as a pull secret has them; empty without a file."""
    if given:
        return _encode(_read(Path(given).expanduser(), "auth_file"))
    for file in _auth_files():
        if file.is_file():
            return _encode(_read(file, "auth_file"))
    return ""


def _auth_files() -> t.Iterator[Path]:
    """Where container tools keep credentials: those of Docker first."""
    if folder := os.environ.get("DOCKER_CONFIG"):
        yield Path(folder, "config.json")
    else:
        yield Path.home() / ".docker/config.json"
    if file := os.environ.get("REGISTRY_AUTH_FILE"):
        yield Path(file)
    if folder := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(folder, "containers/auth.json")


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _read(file: Path, option: str) -> str:
    try:
        if file.stat().st_size > _MAX_FILE:
            raise NimError(f"{option}: {file}: is too large")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise NimError(f"{option}: {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise NimError(f"{option}: {file}: is not text in UTF-8") from error
