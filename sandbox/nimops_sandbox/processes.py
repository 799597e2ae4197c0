# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that outlive the command that started them, distinguished from later pids."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_WAIT = 'read -r line && exec env -u PWD -u OLDPWD -u SHLVL -u _ "$@" </dev/null'
"""Becomes the program when a line arrives, with the same pid; ends if none can arrive any more.

The variables are those that a shell adds to the environment: bash has more of them than dash.
"""


@dataclass(frozen=True)
class Process:
    """A process identified by pid and start time in ticks since a boot, as pids are reused."""

    pid: int
    start: int
    boot: str


def read_boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def parse_stat(text: str) -> tuple[str, int]:
    """Return state letter and start time of a /proc/<pid>/stat line, for any program name."""
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def identify(pid: int) -> Process | None:
    """Return the live process with that pid; a zombie does not count."""
    try:
        state, start = parse_stat((_PROC / str(pid) / "stat").read_text())
    except OSError:
        return None
    return None if state in "ZX" else Process(pid, start, read_boot())


def is_alive(process: Process) -> bool:
    return identify(process.pid) == process


def spawn(
    argv: list[str],
    cwd: Path,
    log: Path,
    environ: Mapping[str, str],
    record: Callable[[Process], None],
) -> None:
    """Start a program in a session of its own, its output appended to `log`.

    `record` gets the process before the program starts, so that each program is recorded, even if
    this command is killed.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            ["/bin/sh", "-c", _WAIT, "sh", *argv],
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    child.returncode = 0  # must outlive us: avoid a ResourceWarning when the object is collected
    assert child.stdin
    with child.stdin as begin:
        stat = (_PROC / str(child.pid) / "stat").read_text()
        record(Process(child.pid, parse_stat(stat)[1], read_boot()))
        begin.write(b"\n")


def stop(processes: Iterable[Process], patience: float = 8.0) -> None:
    """Terminate live processes, kill them after `patience` seconds, and wait for their end."""
    alive = [process for process in processes if is_alive(process)]
    for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        for process in alive:
            _send(process, number)
        deadline = time.monotonic() + wait
        while alive and time.monotonic() < deadline:
            alive = [process for process in alive if is_alive(process)]
            time.sleep(0.05)


def _send(process: Process, number: signal.Signals) -> None:
    """Signal exactly this process: the handle pins the pid while its identity is checked."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(process):
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)
