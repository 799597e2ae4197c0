# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the mount table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

TABLE = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class Mount:
    """A mount. path: the mount point. kind: the type of file system."""

    path: Path
    kind: str


def parse(table: str) -> list[Mount]:
    """Return the mounts of a /proc/<pid>/mountinfo, in the order of that file."""
    found = []
    for line in table.splitlines():
        fields, _, rest = line.partition(" - ")
        found.append(Mount(Path(_unescape(fields.split()[4])), rest.split()[0]))
    return found


def read() -> list[Mount]:
    return parse(TABLE.read_text())


def count(path: Path) -> int:
    """Return the number of mounts stacked at this path."""
    real = path.resolve()
    return sum(mount.path == real for mount in read())


def of_all_processes(proc: Path = Path("/proc")) -> set[Path]:
    """Return the mount points of all processes."""
    found: set[Path] = set()
    for table in proc.glob("[0-9]*/mountinfo"):
        try:
            found.update(mount.path for mount in parse(table.read_text()))
        except OSError:  # ended meanwhile
            continue
    return found


def _unescape(text: str) -> str:
    """Decode spaces, tabs, line breaks and backslashes, which are written in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)
