# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a command, and keeps its descendants in one process tree.

    supervise.py COMMAND...

Orphans of the command become children of this process, so that their CPU time stays in its tree.
It ends when the command ends, on SIGTERM, or when its parent dies, and leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 40  # the runtime waits up to 30 s for runs in progress


def set_option(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl {option} failed")


def die_with_parent(number: signal.Signals) -> None:
    """Get this signal when the parent of this process dies."""
    set_option(PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Adopt descendants whose parent ends."""
    set_option(PR_SET_CHILD_SUBREAPER, 1)


def list_children() -> list[int]:
    """Direct children of this process, which has one thread."""
    me = os.getpid()
    return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def reap_until(pid: int) -> int:
    """Reap children until this one ends; its exit code."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def end_children(patience: float) -> None:
    """Terminate the children that are left, and kill them after a while; we adopt their children."""
    deadline = time.monotonic() + patience
    asked: set[int] = set()
    while children := list_children():
        for pid in children:
            if time.monotonic() > deadline:
                send(pid, signal.SIGKILL)
            elif pid not in asked:
                send(pid, signal.SIGTERM)
        asked.update(children)
        time.sleep(0.05)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def main() -> int:
    """Exit code of the command, 128 + the signal if it died of one."""
    stopping = False
    command: subprocess.Popen[bytes] | None = None

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True
        signal.alarm(PATIENCE)
        if command:
            send(command.pid, signal.SIGTERM)

    def kill(*_: object) -> None:
        if command:
            send(command.pid, signal.SIGKILL)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGALRM, kill)
    adopt_orphans()
    die_with_parent(signal.SIGTERM)
    command = subprocess.Popen(sys.argv[1:])
    if stopping:  # while it was being started
        stop()
    code = reap_until(command.pid)
    signal.alarm(0)
    end_children(10)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
