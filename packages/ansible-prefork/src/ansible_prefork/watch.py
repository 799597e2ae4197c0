# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Detect changes on disk of the files that a parent loaded."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from ansible_prefork.inotify import Inotify

IGNORED_DIRECTORIES = frozenset((".git", "__pycache__", "tests", "docs", "build", ".venv", "node_modules"))


# The clock of file systems lags by up to one kernel tick.
TICK_NS = 20_000_000
# The interval of full scans while the kernel reports changes.
RESCAN_SECONDS = 60.0
FileState = tuple[int, int, int]


class Watch:
    """The state of files and whole directories: modification time, size and inode of each.

    ``since``: a time in nanoseconds since the epoch. Files that changed later count as changed, because an older
    version may have been read.
    """

    def __init__(self, paths: Iterable[Path], since: int) -> None:
        self.paths = sorted({str(path) for path in paths})
        self.links: set[str] = set()
        self.scanned: float | None = None
        self.inotify: Inotify | None = None
        self.seen, self.directories = self._scan()
        with contextlib.suppress(OSError):
            self.inotify = Inotify()
        self._request_notices()
        self.is_late = any(
            status.st_ctime_ns > since - TICK_NS
            for name in self.seen
            if (status := _stat(name)) and name not in self.directories
        )

    def has_changed(self) -> bool:
        if self.is_late:
            return True
        if self._is_quiet():
            return False
        now, self.scanned = time.monotonic(), None
        if any(file_state(name) != state for name, state in self.seen.items()):
            return True
        # In a changed directory, something was added or removed, which may be irrelevant.
        if any(file_state(name) != state for name, state in self.directories.items()):
            seen, directories = self._scan()
            if seen != self.seen:
                return True
            self.directories = directories
            self._request_notices()
        else:
            self.scanned = now
        return False

    def _request_notices(self) -> None:
        """Watch the directories with inotify; the next check scans again for earlier changes."""
        self.scanned = None
        if self.inotify is None:
            return
        try:
            self.inotify.add(self.directories)
        except OSError:
            self.inotify.close()
            self.inotify = None
        # inotify does not report that a link's target changed.
        self.apart = {name: file_state(name) for name in (*self.paths, *self.links)}

    def _is_quiet(self) -> bool:
        """Whether the kernel reported no change since the last scan, and no watched path or link changed."""
        if self.inotify is None or self.scanned is None or time.monotonic() - self.scanned > RESCAN_SECONDS:
            return False
        return not self.inotify.has_events() and all(file_state(name) == state for name, state in self.apart.items())

    def _scan(self) -> tuple[dict[str, FileState | None], dict[str, FileState | None]]:
        """The states of the files, including missing paths, and of their directories."""
        files: dict[str, FileState | None] = {}
        directories: dict[str, FileState | None] = {}
        pending = list(self.paths)
        while pending:
            path = pending.pop()
            if not os.path.isdir(path):
                files[path] = file_state(path)
                continue
            directories[path] = file_state(path)
            with contextlib.suppress(OSError):
                entries = [entry for entry in os.scandir(path) if entry.name not in IGNORED_DIRECTORIES]
                pending.extend(entry.path for entry in entries)
                self.links.update(entry.path for entry in entries if entry.is_symlink())
        return files, directories


def file_state(path: str) -> FileState | None:
    """The state of a file; None if it is missing."""
    status = _stat(path)
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status else None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
