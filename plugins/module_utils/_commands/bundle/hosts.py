# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The configuration by which containerd pulls from a mirror."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ..._base.errors import NimError
from ..._http.image_registry import parse_reference
from ..._http.mirrors import part_of
from .layout import Entry, write_atomically
from .transfer import Destination, public_host

_SERVERS = {"docker.io": "registry-1.docker.io"}


def hosts_of(entries: t.Iterable[Entry]) -> list[str]:
    """The registries of the images."""
    images = (entry.name for entry in entries if not entry.is_model)
    return sorted({public_host(parse_reference(image).host) for image in images})


def write_hosts(host: str, to: Destination, scheme: str) -> str:
    """The content of `<host>/hosts.toml`: pull the images of a registry from the mirror."""
    place = "/".join(part for part in (to.host, "v2", to.prefix, part_of(host)) if part)
    return (
        f'server = "https://{_SERVERS.get(host, host)}"\n\n'
        f'[host."{scheme}://{place}"]\n'
        '  capabilities = ["pull", "resolve"]\n'
        "  override_path = true\n"
    )


def save_hosts(folder: Path, hosts: t.Iterable[str], to: Destination, scheme: str) -> list[Path]:
    """Write `hosts.toml` for each registry below a folder."""
    files = []
    try:
        for host in hosts:
            file = folder / host / "hosts.toml"
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, write_hosts(host, to, scheme).encode())
            files.append(file)
    except OSError as error:
        raise NimError(f"hosts_dir: {folder}: {error.strerror}") from error
    return files
