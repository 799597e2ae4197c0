# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Supervised commands: their orphans stay in the tree and end with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import typing as t

import pytest
from nimops_harness.proc import cpu_seconds, read_memory, read_tree
from nimops_harness.progress import poll
from nimops_harness.workload import SUPERVISE

# Prints the pid of a process that is not its child any more: an orphan in a session of its own.
ORPHAN = "(setsid sh -c '{}' >/dev/null & echo $!) & wait; {}"
SPIN = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"


@pytest.fixture
def supervise() -> t.Iterator[t.Callable[[str], subprocess.Popen[str]]]:
    """Run a shell script under the supervisor."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-I", str(SUPERVISE), "sh", "-c", script]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=20)


def is_there(pid: int) -> bool:
    return pid in read_tree(pid)


def seen(is_so: t.Callable[[], bool]) -> bool:
    return poll(is_so, 20, pause=0.02) is not None


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)], ids=str
)
def test_supervise_exit_code(supervise: t.Any, script: str, code: int) -> None:
    assert supervise(script).wait(20) == code


def test_supervise_orphans(supervise: t.Any) -> None:
    process = supervise(ORPHAN.format("sleep 60", "exec sleep 60"))
    orphan = int(process.stdout.readline())
    assert seen(lambda: orphan in read_tree(process.pid))
    assert 0 < read_memory(read_tree(process.pid)).pss <= read_memory(read_tree(process.pid)).rss
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 128 + signal.SIGTERM
    assert not is_there(orphan)


def test_supervise_cpu_of_orphans(supervise: t.Any) -> None:
    process = supervise(ORPHAN.format(SPIN, "exec sleep 60"))
    before = cpu_seconds(read_tree(process.pid))
    orphan = int(process.stdout.readline())
    assert seen(lambda: not is_there(orphan))
    assert cpu_seconds(read_tree(process.pid)) - before >= 0.05
