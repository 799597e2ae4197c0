# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Child processes: start them, measure the age of runs, stop leftovers."""

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
    """Become the parent of orphaned descendants (a child subreaper)."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl PR_SET_CHILD_SUBREAPER failed")


def start(command: list[str], environment: dict[str, str], stdin: int | None = None) -> int:
    """Start a program with no signals blocked; its process ID. OSError if it cannot be started."""
    return os.posix_spawnp(
        command[0],
        command,
        environment,
        file_actions=[] if stdin is None else [(os.POSIX_SPAWN_DUP2, stdin, 0)],
        setsigmask=[],
        setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE],
    )


def children_of(pid: int) -> list[int]:
    """The process IDs of a process's children, including those that its threads started."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(item) for item in file.read_text().split()]
    return found


def age_of(pid: int) -> float:
    """Seconds since a process started; 0 if it is gone."""
    try:
        started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, uptime - started / _TICKS)


def send(pid: int, number: int) -> None:
    """Send a signal, if the process still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def wait_for_signal(numbers: set[signal.Signals], seconds: float) -> int | None:
    """The first of these signals received within ``seconds``, or None. All of them must be blocked.

    After a stop and a continue, sigtimedwait may report a signal that was never sent.
    """
    received = signal.sigtimedwait(numbers, seconds)
    if received is None or received.si_signo not in numbers:
        return None
    return received.si_signo


def reap() -> dict[int, int]:
    """Reap all children that have exited; their exit codes by process ID."""
    codes = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if not ended:
                break
            codes[ended] = os.waitstatus_to_exitcode(status)
    return codes


def stop_children(patience: float) -> None:
    """Send SIGTERM to all children, including orphans that we inherit, and SIGKILL after ``patience`` seconds."""
    deadline = time.monotonic() + patience
    terminated: set[int] = set()
    while left := children_of(os.getpid()):
        for pid in left:
            if time.monotonic() > deadline:
                send(pid, signal.SIGKILL)
            elif pid not in terminated:
                send(pid, signal.SIGTERM)
        terminated.update(left)
        time.sleep(0.05)
        reap()
