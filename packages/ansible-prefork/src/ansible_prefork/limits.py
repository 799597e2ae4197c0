# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Resource limits of a run: those of the requesting process, and a memory limit."""

from __future__ import annotations

import contextlib
import resource

NUMBERS = frozenset(value for name, value in vars(resource).items() if name.startswith("RLIMIT_"))
MIB = 1024 * 1024
Limits = dict[int, tuple[int, int]]


def read(pid: int) -> Limits:
    """The soft and hard limits of a process of this user, except unreadable ones."""
    found = {}
    for number in NUMBERS:
        with contextlib.suppress(OSError):
            found[number] = resource.prlimit(pid, number)
    return found


def apply(limits: Limits) -> None:
    """Set the limits of this process as far as permitted: raising a hard limit needs a privilege."""
    for number, wanted in limits.items():
        if resource.getrlimit(number) != wanted:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(number, wanted)


def apply_memory_limit(mib: int) -> None:
    """Limit the data of this process and of each child process in MiB; 0 for no limit. A lower limit stays.

    Data is private writable memory: RLIMIT_DATA. Address space, RLIMIT_AS, also counts the
    64 MiB that the allocator reserves for each thread, and mapped files.
    """
    if not mib:
        return
    _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = mib * MIB if hard == resource.RLIM_INFINITY else min(mib * MIB, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, wanted))
