# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nimops_sandbox import processes
from nimops_sandbox.processes import Process


@pytest.fixture
def sleeper() -> Iterator[Process]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        process = processes.identify(child.pid)
        assert process is not None
        yield process
        child.kill()


@pytest.mark.parametrize(
    "name", ["kwok", "a b", "a) S 1 (b", "((("], ids=["plain", "space", "like a stat", "brackets"]
)
def test_parse_stat(name: str) -> None:
    rest = " ".join(str(number) for number in range(4, 23))
    assert processes.parse_stat(f"17 ({name}) S {rest} 0 0") == ("S", 22)


def test_identify() -> None:
    process = processes.identify(os.getpid())
    assert process is not None
    assert processes.is_alive(process)


@pytest.mark.parametrize(
    "change", [{"start": 1}, {"boot": "another"}], ids=["later process", "before a reboot"]
)
def test_stop_reused_pid(sleeper: Process, change: dict[str, str | int]) -> None:
    stale = dataclasses.replace(sleeper, **change)  # type: ignore[arg-type]
    assert not processes.is_alive(stale)
    processes.stop([stale])
    assert processes.is_alive(sleeper)


def test_stop_uncollected_child(sleeper: Process) -> None:
    processes.stop([sleeper])
    assert not processes.is_alive(sleeper)


def test_stop_ignoring_sigterm(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        process = processes.identify(child.pid)
        assert process is not None
        processes.stop([process], patience=0.2)
        assert child.wait() == -signal.SIGKILL


def test_spawn(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    code = "import os; print(os.getsid(0) == os.getpid(), os.getcwd(), sorted(os.environ))"
    made: list[Process] = []
    command = [sys.executable, "-I", "-c", code]
    processes.spawn(command, tmp_path, log, {"LC_ALL": "C"}, made.append)
    os.waitpid(made[0].pid, 0)
    assert log.read_text() == f"before\nTrue {tmp_path} ['LC_ALL']\n"


def test_spawn_killed_before_record(tmp_path: Path) -> None:
    """The program does not start unless its process is recorded."""
    made: list[Process] = []

    def kill(process: Process) -> None:
        made.append(process)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        processes.spawn(["/bin/touch", "started"], tmp_path, tmp_path / "log", {}, kill)
    os.waitpid(made[0].pid, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
