# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a command, and keeps its descendants in one process tree.

    supervise.py COMMAND...

Orphans of the command become children of this process, so that their CPU time stays in its tree.
It ends when the command ends, on SIGTERM, or when its parent dies, and leaves nothing behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

from nimops_supervisor.processes import adopt_orphans, send, stop_children

PR_SET_PDEATHSIG = 1
PATIENCE = 40  # the runtime waits up to 30 s for runs in progress


def die_with_parent(number: signal.Signals) -> None:
    """Get this signal when the parent of this process dies."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl PR_SET_PDEATHSIG failed")


def reap_until(pid: int) -> int:
    """Reap children until this one ends; its exit code, 128 + the signal if it died of one."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def main() -> int:
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
    stop_children(10)
    return code


if __name__ == "__main__":
    sys.exit(main())
