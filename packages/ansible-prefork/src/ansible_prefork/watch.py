# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Detects that files which a parent has loaded have changed on disk."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

from ansible_prefork.notices import Notices

IGNORED_DIRECTORIES = frozenset((".git", "__pycache__", "tests", "docs", "build", ".venv", "node_modules"))


# The clock of file systems lags by up to one kernel tick.
TICK_NS = 20_000_000
# How long only the kernel's notices count.
LOOK_SECONDS = 60.0
State = tuple[int, int, int]


class Watch:
    """The state of files and whole directories: time of modification, size and inode of each.

    ``since``: what has changed after it, in nanoseconds of the epoch, counts as changed: it may have been read before.
    """

    def __init__(self, paths: Iterable[Path], since: int) -> None:
        self.paths = sorted({str(path) for path in paths})
        self.links: set[str] = set()
        self.looked: float | None = None
        self.notices: Notices | None = None
        self.seen, self.directories = self._look()
        with contextlib.suppress(OSError):
            self.notices = Notices()
        self._ask_for_notices()
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
        now, self.looked = time.monotonic(), None
        if any(file_state(name) != state for name, state in self.seen.items()):
            return True
        # In a changed directory, something was added or removed, which may be irrelevant.
        if any(file_state(name) != state for name, state in self.directories.items()):
            seen, directories = self._look()
            if seen != self.seen:
                return True
            self.directories = directories
            self._ask_for_notices()
        else:
            self.looked = now
        return False

    def _ask_for_notices(self) -> None:
        """Of the directories; what has changed before is looked at once more."""
        self.looked = None
        if self.notices is None:
            return
        try:
            self.notices.add(self.directories)
        except OSError:
            self.notices.close()
            self.notices = None
        # Nothing in a directory tells that a link leads elsewhere.
        self.apart = {name: file_state(name) for name in (*self.paths, *self.links)}

    def _is_quiet(self) -> bool:
        """Whether the kernel knows of no change since the last look, and all is where it was."""
        if self.notices is None or self.looked is None or time.monotonic() - self.looked > LOOK_SECONDS:
            return False
        return not self.notices.take() and all(file_state(name) == state for name, state in self.apart.items())

    def _look(self) -> tuple[dict[str, State | None], dict[str, State | None]]:
        """The states of the files, and of the directories that they are in; of paths that are not there, too."""
        files: dict[str, State | None] = {}
        directories: dict[str, State | None] = {}
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


def file_state(path: str) -> State | None:
    """The state of a file, None when there is none."""
    status = _stat(path)
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status else None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
