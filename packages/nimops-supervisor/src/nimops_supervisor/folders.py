# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Remove the leftovers of runs: a work folder per resource, sockets and temporary folders."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import re
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nimops_supervisor import guard
from nimops_supervisor.guard import LAST_RUN

QUIET_SECONDS = 5.0
"""Time that a folder stays after its last run, as the runtime still reads and writes it."""

_TRASH = ".trash"
_SCRATCH = "nimops-supervisor-"
_LOCK = "lock"
# ansible-local-<pid><8 characters>, and ansible-tmp-<time>-<pid>-<number>
_TEMPORARY = re.compile(r"ansible-(?:local-(?P<local>[0-9]+)[a-z0-9_]{8}|tmp-[0-9.]+-(?P<tmp>[0-9]+)-[0-9]+)")


def sweep(root: Path | None = None, quiet: float = QUIET_SECONDS) -> int:
    """Remove the folders of deleted resources; the number of removed folders.

    Safe if a resource of the same name is created meanwhile: either the guard already removed the mark, or
    the run fails before it starts and the runtime tries again.
    """
    root, removed, marks = root or guard.ROOT, 0, []
    # A folder that is deleted during the listing raises an error; the next sweep finds the rest.
    with contextlib.suppress(OSError):
        marks = [*root.glob(f"*/*/*/*/{LAST_RUN}"), *root.glob(f"*/*/*/*/*/{LAST_RUN}")]
    for mark in marks:
        try:
            found = mark.stat()
        except OSError:
            continue
        is_due = stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime >= quiet
        if is_due and _remove(mark.parent, root):
            removed += 1
    return removed


def _remove(folder: Path, root: Path) -> bool:
    """Move a folder away atomically, delete it, then the folders above it that are empty."""
    trash = root / _TRASH
    grave = trash / f"{time.monotonic_ns()}"
    try:
        trash.mkdir(mode=0o700, exist_ok=True)
        folder.rename(grave)
    except OSError:
        return False
    shutil.rmtree(grave, ignore_errors=True)
    for above in (folder.parent, trash):
        if above != root:
            with contextlib.suppress(OSError):
                above.rmdir()
    return True


def clear(root: Path | None = None) -> None:
    """Remove all work folders, while nothing runs: leftovers of an earlier runtime."""
    root = root or guard.ROOT
    if root.is_symlink() or not _is_own(root):
        return
    shutil.rmtree(root, ignore_errors=True)


def clear_sockets(folder: Path = Path("/tmp"), age: float = 0.0, lost_age: float = math.inf) -> None:
    """Remove sockets of event receivers that are older than ``age`` seconds and have no listener.

    The runtime keeps listening on the socket of a run that it could not start, for example because
    the disk was full. Such a socket is removed after ``lost_age`` seconds, which no run can reach.
    """
    for path in folder.glob("ansibleoperator-*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            seconds = time.time() - found.st_mtime
            if seconds < age or not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
                continue
            if seconds >= lost_age or not _is_listening(path):
                path.unlink()


def _is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True


def sweep_temporary(folder: Path) -> None:
    """Remove temporary folders of Ansible processes that were killed; the names contain the process ID."""
    for path in folder.glob("ansible-*"):
        match = _TEMPORARY.fullmatch(path.name)
        if match and not Path(f"/proc/{match['local'] or match['tmp']}").exists():
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder for one run of the runtime, locked as long as this process lives."""
    with (
        tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as name,
        open(Path(name, _LOCK), "w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def remove_abandoned(folder: Path) -> None:
    """Remove the scratch folders of processes that were killed, such as before a container restart."""
    for path in folder.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError), open(path / _LOCK, "r+") as lock:
            if os.fstat(lock.fileno()).st_uid == os.getuid() and not path.is_symlink():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


def _is_own(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.getuid()
    except OSError:
        return False
