# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Collects support data in one file."""

from __future__ import annotations

import json
import platform
import time
import typing as t
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..._base.errors import NimError
from ..._base.types import Json
from ..._base.yaml_text import load_yaml
from ..._cluster.client import Client
from ..command import CONNECTION_SPEC, Command
from ..files import atomic_file
from ..signals import raise_on_signals
from .archive import Archive
from .gather import (
    Order,
    gather,
)

_SUFFIX = ".tar.gz"


class GatherCommand(Command):
    """Reads the cluster and writes one file, readable only by its owner."""

    spec = CONNECTION_SPEC | {
        "resource": {"type": "str", "default": ""},
        "namespace": {"type": "str"},
        "operator_namespace": {"type": "str", "default": "nimops-system"},
        "path": {"type": "path", "default": "."},
        "max_mib": {"type": "int", "default": 50},
        "wait_timeout": {"type": "int", "default": 300},
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
    }

    def act(self, arguments: Json) -> Json:
        """Write the file under a temporary name first, and print its path."""
        for option in ("max_mib", "wait_timeout"):
            if arguments[option] < 1:
                raise NimError(f"{option}: is {arguments[option]}; use 1 or more")
        started = datetime.now(UTC)
        file = _output_file(arguments["path"], started)
        if self.is_dry:
            self.print_message(f"would write {file}")
            return {"changed": False, "skipped": True}
        client = self.connect(arguments)
        with raise_on_signals(), atomic_file(file) as stream:
            archive = self._fill(client, arguments, stream, file, started)
        return self._summarize(file, archive, arguments["output"])

    def _fill(
        self, client: Client, arguments: Json, stream: t.BinaryIO, file: Path, started: datetime
    ) -> Archive:
        namespace = arguments["namespace"] or ""
        order = Order(
            resource=arguments["resource"],
            namespace=namespace or (client.namespace if arguments["resource"] else ""),
            operator_namespace=arguments["operator_namespace"],
            seconds=arguments["wait_timeout"],
        )
        limit, folder = arguments["max_mib"] << 20, file.name.removesuffix(_SUFFIX)
        archive = Archive(stream, limit, folder, int(started.timestamp()))
        begun = time.monotonic()
        server = gather(client, order, archive, self.print_message)
        archive.close(
            {
                "about": {
                    "gathered": started.isoformat(timespec="seconds"),
                    "seconds": round(time.monotonic() - begun, 1),
                    "resource": order.resource,
                    "namespace": order.namespace or "all",
                    "operator_namespace": order.operator_namespace,
                    "max_mib": arguments["max_mib"],
                    "wait_timeout": order.seconds,
                    "note": "No Secret was read. Text that looked like a credential is (redacted).",
                },
                "versions": {
                    "nimops.nim": collection_version(),
                    "kubernetes": server,
                    "ansible-core": version_of("ansible-core"),
                    "python": platform.python_version(),
                    "kubernetes (Python package)": version_of("kubernetes"),
                },
            }
        )
        return archive

    def _summarize(self, file: Path, archive: Archive, output: str) -> Json:
        found = {
            "path": str(file),
            "bytes": archive.size,
            "files": [item["path"] for item in archive.files],
            "cut": archive.cut,
            "unread": archive.unread,
        }
        self.print_message(
            f"{len(archive.files)} files in {archive.size / (1 << 20):.1f} MiB;"
            f" {len(archive.cut)} were cut and {len(archive.unread)} could not be read,"
            " its index.json lists which and why"
        )
        self.print_data(json.dumps(found, indent=2) if output == "json" else str(file))
        return {"changed": True} | found


def version_of(package: str) -> str:
    """The version of a Python package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def collection_version() -> str:
    """The version of this collection, installed or from a working tree."""
    root = Path(__file__).parents[4]
    try:
        installed = json.loads((root / "MANIFEST.json").read_text())
        return str(installed["collection_info"]["version"])
    except OSError:
        (declared,) = load_yaml((root / "galaxy.yml").read_text())
        return f"{declared['version']} (a working tree)"


def _output_file(path: str, started: datetime) -> Path:
    """The file to write; in a folder, its name contains the time."""
    file = Path(path).expanduser().absolute()
    return file / f"nim-gather-{started:%Y%m%dT%H%M%SZ}{_SUFFIX}" if file.is_dir() else file
