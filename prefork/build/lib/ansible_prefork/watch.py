# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Notices that files which a parent has loaded are not the ones on disk any more."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

IGNORED_DIRECTORIES = frozenset((".git", "__pycache__", "tests", "docs", "build", ".venv", "node_modules"))


class Watch:
    """The state of files and whole directories, as modification time, size and inode of each."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = sorted(set(paths))
        self.seen = self._look()

    def has_changed(self) -> bool:
        return self._look() != self.seen

    def _look(self) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        for path in self.paths:
            for name, status in _walk(str(path)):
                found[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return found


def _walk(path: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        status = os.stat(path)
    except OSError:
        return
    if not os.path.isdir(path):
        yield path, status
        return
    try:
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        if entry.name in IGNORED_DIRECTORIES:
            continue
        try:
            if entry.is_dir():
                yield from _walk(entry.path)
            else:
                yield entry.path, entry.stat()
        except OSError:
            continue
