# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Limits the runs that wait for slow tenant servers, across the whole operator.

The runtime has few workers, and a worker that waits for one tenant is unavailable to the others. So
one run at a time may wait for the servers of a namespace, and only with one of a few slots, which
all namespaces share.

Each run is a process, so the state is in record locks on a file, which end with their process.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from .._base.environment import count_from

SLOTS_VARIABLE = "NIMOPS_SLOW_QUESTIONS"
DEFAULT_SLOTS = 2
"""Half of the workers per kind in the Deployment."""

_FIRST_SLOT, _FIRST_NAMESPACE = 1, 1 << 16
"""Offsets of the locked bytes in the file."""


class Slots:
    """The locks of one run; the file is opened on first use."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: int | None = None

    def take(self, namespace: str) -> bool:
        """Whether this run may wait for a server of the namespace, until `release`."""
        is_taken = False
        try:
            is_taken = self._take(namespace)
        except OSError:
            pass
        finally:
            if not is_taken:
                self.release()
        return is_taken

    def release(self) -> None:
        """Release all locks by closing the file."""
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def _take(self, namespace: str) -> bool:
        if not self._lock(_FIRST_NAMESPACE + _number_of(namespace)):
            return False
        return any(
            self._lock(_FIRST_SLOT + number)
            for number in range(count_from(SLOTS_VARIABLE, DEFAULT_SLOTS))
        )

    def _lock(self, byte: int) -> bool:
        if self._file is None:
            self._file = _open(self._where() / "locks")
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _where(self) -> Path:
        """A folder that only this user can read or write; OSError if there is none."""
        folder = self._folder or Path(tempfile.gettempdir()) / f"nimops-slots-{os.geteuid()}"
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
        is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
        if not is_private or status.st_uid != os.geteuid():
            raise PermissionError(f"{folder} is not a private folder of this user")
        return folder


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _number_of(namespace: str) -> int:
    return int.from_bytes(hashlib.sha256(namespace.encode()).digest()[:7], "big")
