# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Kernel notifications of changes in directories (inotify), which save checking each file."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable

IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE = 0x2, 0x4, 0x8
IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x40, 0x80, 0x100, 0x200
IN_DELETE_SELF, IN_MOVE_SELF = 0x400, 0x800
IN_ONLYDIR = 0x1000000
CHANGES = (
    IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE
    | IN_DELETE_SELF | IN_MOVE_SELF
)  # fmt: skip
# File systems that only this machine changes, so the kernel reports all changes.
LOCAL = frozenset(("btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs"))
_libc = ctypes.CDLL(None, use_errno=True)


class Inotify:
    """An inotify watch on a set of directories (not recursive)."""

    def __init__(self) -> None:
        self._number = int(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if self._number < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def add(self, directories: Iterable[str]) -> None:
        """Watch the directories; OSError if the kernel does not report all changes there."""
        local = _local_devices()
        for path in directories:
            if os.stat(path).st_dev not in local:
                raise OSError(f"{path} is not on a local file system")
            if _libc.inotify_add_watch(self._number, os.fsencode(path), CHANGES | IN_ONLYDIR) < 0:
                raise OSError(ctypes.get_errno(), "inotify", path)

    def has_events(self) -> bool:
        """Whether there was a notification since the last call."""
        has_any = False
        with contextlib.suppress(BlockingIOError):
            while os.read(self._number, 1 << 16):
                has_any = True
        return has_any

    def close(self) -> None:
        os.close(self._number)


def _local_devices() -> set[int]:
    found = set()
    with open("/proc/self/mountinfo") as mounts:
        for line in mounts:
            before, _dash, after = line.partition(" - ")
            if after.split()[0] in LOCAL:
                major, _colon, minor = before.split()[2].partition(":")
                found.add(os.makedev(int(major), int(minor)))
    return found
