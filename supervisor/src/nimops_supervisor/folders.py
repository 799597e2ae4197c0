# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The work folders of runs: one for each resource, which the runtime never removes."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import time
from pathlib import Path

from nimops_supervisor import guard
from nimops_supervisor.guard import LAST_RUN

QUIET_SECONDS = 5.0
"""How long after its last run a folder stays: the runtime still reads and writes in it."""

_TRASH = ".trash"


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


def clear_sockets(folder: Path = Path("/tmp")) -> None:
    """Remove the sockets of event receivers that nobody listens at any more."""
    for path in folder.glob("ansibleoperator-*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
                continue
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                try:
                    probe.connect(str(path))
                except ConnectionRefusedError:
                    path.unlink()


def _is_own(folder: Path) -> bool:
    try:
        return folder.stat().st_uid == os.getuid()
    except OSError:
        return False
