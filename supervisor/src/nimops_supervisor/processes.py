# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The processes below this one: start the runtime, see how long its runs last, end what it left."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl PR_SET_CHILD_SUBREAPER failed")


def start(command: list[str], environment: dict[str, str]) -> int:
    """Start a program with no signal blocked; its process id. OSError if it cannot be started."""
    return os.posix_spawnp(
        command[0],
        command,
        environment,
        setsigmask=[],
        setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE],
    )


def children_of(pid: int) -> list[int]:
    """The process ids of its children, also of those that its threads have started."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(item) for item in file.read_text().split()]
    return found


def age_of(pid: int) -> float:
    """Seconds since a process was started, 0 if it is gone."""
    try:
        started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, uptime - started / _TICKS)


def send(pid: int, number: int) -> None:
    """Send a signal, if the process is still there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_for_signal(numbers: set[signal.Signals], seconds: float) -> int | None:
    """The signal of these, all blocked, that came within so many seconds; None without one.

    One that is stopped meanwhile, and continued after that time, is told of a signal that there is not.
    """
    received = signal.sigtimedwait(numbers, seconds)
    if received is None or received.si_signo not in numbers:
        return None
    return received.si_signo


def reap(pid: int) -> int | None:
    """Take notice of whatever has ended; the exit code of this process, None if it has not ended."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if not ended:
                break
            if ended == pid:
                code = os.waitstatus_to_exitcode(status)
    return code


def end_children(patience: float) -> None:
    """Ask all children that are left to end, and make them; theirs become ours meanwhile."""
    deadline = time.monotonic() + patience
    asked: set[int] = set()
    while left := children_of(os.getpid()):
        for pid in left:
            if time.monotonic() > deadline:
                send(pid, signal.SIGKILL)
            elif pid not in asked:
                send(pid, signal.SIGTERM)
        asked.update(left)
        time.sleep(0.05)
        reap(0)
