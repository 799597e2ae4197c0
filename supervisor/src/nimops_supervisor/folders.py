# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The work folders of runs: one for each resource, which the runtime never removes."""

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
"""How long after its last run a folder stays: the runtime still reads and writes in it."""

_TRASH = ".trash"
_SCRATCH = "nimops-supervisor-"
_LOCK = "lock"
# ansible-local-<pid><8 characters>, and ansible-tmp-<time>-<pid>-<number>
_TEMPORARY = re.compile(r"ansible-(?:local-(?P<local>[0-9]+)[a-z0-9_]{8}|tmp-[0-9.]+-(?P<tmp>[0-9]+)-[0-9]+)")


def sweep(root: Path | None = None, quiet: float = QUIET_SECONDS) -> int:
    """Remove the folders of resources that are gone; how many were removed.

    A resource of the same name that comes meanwhile finds no folder, or an empty one: the guard has
    taken the mark away, or its run fails before it has begun and is made again.
    """
    root, removed = root or guard.ROOT, 0
    for mark in list(root.glob(f"*/*/*/*/{LAST_RUN}")) + list(root.glob(f"*/*/*/*/*/{LAST_RUN}")):
        try:
            found = mark.stat()
        except OSError:
            continue
        is_due = stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime >= quiet
        if is_due and _remove(mark.parent, root):
            removed += 1
    return removed


def _remove(folder: Path, root: Path) -> bool:
    """Take a folder away at once, then what it holds, then the folders above that are empty."""
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
    """Remove all of them, while nothing runs: what a runtime before this one has left."""
    root = root or guard.ROOT
    if root.is_symlink() or not _is_own(root):
        return
    shutil.rmtree(root, ignore_errors=True)


def clear_sockets(folder: Path = Path("/tmp"), age: float = 0.0, lost_age: float = math.inf) -> None:
    """Remove the sockets of event receivers, so many seconds old, that nobody listens at any more.

    The runtime keeps listening at the socket of a run that it could not start, for example because
    the disk was full. Such a socket is removed after `lost_age` seconds, when no run can be as old.
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
    """Remove the temporary folders of Ansible's processes that were killed: their names tell whose they are."""
    for path in folder.glob("ansible-*"):
        match = _TEMPORARY.fullmatch(path.name)
        if match and not Path(f"/proc/{match['local'] or match['tmp']}").exists():
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder for one life of the runtime, marked as in use for as long as this process lives."""
    with (
        tempfile.TemporaryDirectory(prefix=_SCRATCH, ignore_cleanup_errors=True) as name,
        open(Path(name, _LOCK), "w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def remove_abandoned(folder: Path) -> None:
    """Remove such folders of those that were killed, as of the container before a restart."""
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
