# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Snapshots of etcd's data, in folders that instances share.

They contain the initial objects of an instance. Validating its resource definitions takes the API
server most of the CPU time of a start.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from .locks import locked

_PREFIX = "etcd-data-"
_KEPT = 8
_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)


class Snapshot:
    """The snapshot under `key` in the cache `root`, which may not exist yet."""

    def __init__(self, root: Path, key: str) -> None:
        self._root = root
        self._folder = root / f"{_PREFIX}{key}"

    def locked(self, on_wait: Callable[[], None]) -> AbstractContextManager[None]:
        """Hold a lock, so that one command takes the snapshot and others wait to restore it."""
        self._root.mkdir(parents=True, exist_ok=True)
        return locked(self._root / ".etcd-data.lock", on_wait)

    def restore(self, data: Path) -> bool:
        """Create the data directory from the snapshot; return False if there is none."""
        new = data.with_name(f"{data.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        if not self._folder.is_dir():
            return False
        shutil.copytree(self._folder, new, copy_function=copy_sparse)
        new.rename(data)
        os.utime(self._folder)
        return True

    def take(self, data: Path) -> None:
        """Copy the data directory of a stopped etcd, and remove the oldest snapshots."""
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self._root) as scratch:
            result = Path(scratch, "result")
            shutil.copytree(data, result, copy_function=copy_sparse)
            os.utime(result)
            result.rename(self._folder)
        by_use = sorted(self._root.glob(f"{_PREFIX}*"), key=lambda it: it.stat().st_mtime)
        for folder in by_use[:-_KEPT]:
            shutil.rmtree(folder, ignore_errors=True)


def make_key(programs: Iterable[Path], others: Iterable[str]) -> str:
    """Return a key that changes with these programs' files, and with the other inputs."""
    digest = hashlib.sha256()
    for path in programs:
        status = path.stat()
        digest.update(f"{path.resolve()} {status.st_size} {status.st_mtime_ns}\n".encode())
    for text in others:
        digest.update(f"{len(text)} {text}\n".encode())
    return digest.hexdigest()[:16]


def copy_sparse(source: str, target: str) -> str:
    """Copy a file with holes in place of zeros: etcd preallocates 64 MB of its log."""
    with open(source, "rb") as reader, open(target, "wb") as writer:
        while block := reader.read(_BLOCK):
            if block == _ZEROS[: len(block)]:
                writer.seek(len(block), os.SEEK_CUR)
            else:
                writer.write(block)
        writer.truncate()
    shutil.copymode(source, target)
    return target
