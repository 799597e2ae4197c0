# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration by which containerd pulls from a mirror."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

from ..._base.errors import NimError
from ..._http.image_registry import parse_reference
from ..._http.mirrors import part_of
from .layout import Entry, write_atomically
from .transfer import Destination, public_host

_SERVERS = {"docker.io": "registry-1.docker.io"}
_AUTHORITY = "ca.crt"
"""Beside `hosts.toml`, which names it: containerd takes a relative path from there."""


@dataclass(frozen=True)
class Mirror:
    """How nodes reach a mirror; ``authorities``: the PEM text of those to trust, or empty."""

    to: Destination
    scheme: str
    authorities: str = ""


def hosts_of(entries: t.Iterable[Entry]) -> list[str]:
    """The registries of the images."""
    images = (entry.name for entry in entries if not entry.is_model)
    return sorted({public_host(parse_reference(image).host) for image in images})


def write_hosts(host: str, mirror: Mirror) -> str:
    """The content of `<host>/hosts.toml`: pull the images of a registry from the mirror."""
    to = mirror.to
    place = "/".join(part for part in (to.host, "v2", to.prefix, part_of(host)) if part)
    authorities = f'  ca = "{_AUTHORITY}"\n' if mirror.authorities else ""
    return (
        f'server = "https://{_SERVERS.get(host, host)}"\n\n'
        f'[host."{mirror.scheme}://{place}"]\n'
        '  capabilities = ["pull", "resolve"]\n'
        f"  override_path = true\n{authorities}"
    )


def save_hosts(folder: Path, hosts: t.Iterable[str], mirror: Mirror) -> list[Path]:
    """Write `hosts.toml` for each registry below a folder, and the authorities beside it."""
    files = []
    try:
        for host in hosts:
            file = folder / host / "hosts.toml"
            file.parent.mkdir(parents=True, exist_ok=True)
            if mirror.authorities:
                write_atomically(file.with_name(_AUTHORITY), mirror.authorities.encode())
            write_atomically(file, write_hosts(host, mirror).encode())
            files.append(file)
    except OSError as error:
        raise NimError(f"hosts_dir: {folder}: {error.strerror}") from error
    return files
