# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Runs wait for memory. The control group is a directory of files; its usage is the sum that the runs report."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import pytest
from harness import children, is_running, wait_for

from ansible_prefork import memory

MIB = 1024 * 1024
BASE = 200
"""The memory of all processes but the runs, in MiB."""
# Takes memory step by step, keeps it for a moment, and releases it.
TAKE = """
import os, sys, time
path = os.path.join(os.environ["TAKEN"], str(os.getpid()))
most, seconds = int(sys.argv[2]), float(sys.argv[3])
for taken in range(0, most + 1, 10):
    open(path, "w").write(str(taken))
    time.sleep(0.08)
time.sleep(seconds)
os.unlink(path)
"""


class Group:
    """A control group of either version, whose usage is the sum that the runs report."""

    def __init__(self, folder, limit, version=2):
        self.folder, self.taken, self.version = folder / "group", folder / "taken", version
        self.folder.mkdir()
        self.taken.mkdir()
        self.most = self.cached = 0
        names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
        self.limit_file, self.usage_file = names[version == 1]
        (self.folder / self.limit_file).write_text(limit if isinstance(limit, str) else f"{limit * MIB}\n")
        self.update()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.keep, daemon=True)
        self.thread.start()

    @property
    def environment(self):
        return {"PREFORK_CGROUP": str(self.folder), "PREFORK_RUN_MEMORY_MIB": "300", "TAKEN": str(self.taken)}

    def update(self):
        used = BASE
        for path in self.taken.iterdir():
            with contextlib.suppress(OSError, ValueError):
                used += int(path.read_text())
        self.most = max(self.most, used)
        prefix = "total_" if self.version == 1 else ""
        self.put("memory.stat", f"anon 1\n{prefix}active_file {self.cached * MIB}\n{prefix}inactive_file 0\n")
        self.put(self.usage_file, f"{(used + self.cached) * MIB}\n")

    def put(self, name, text):
        (self.folder / "new").write_text(text)
        os.replace(self.folder / "new", self.folder / name)

    def keep(self):
        while not self.done.wait(0.005):
            self.update()


@pytest.fixture
def make_group(site):
    made = []

    def make(limit, **options):
        made.append(Group(site.root, limit, **options))
        return made[-1]

    yield make
    for group in made:
        group.done.set()
        group.thread.join()


@pytest.mark.parametrize("version", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_memory_heavy_runs_at_once(site, make_group, version):
    group = make_group(1000, version=version)
    parent = site.parent(env=group.environment)
    # On a busy machine, runs may take memory while the parent has no processor: not three times in a row.
    for _ in range(3):
        group.most, logged = 0, site.log()
        started = [site.start(TAKE, "290", "0.3", env=group.environment) for _ in range(4)]
        assert [process.communicate(timeout=60) for process in started] == [("", "")] * 4
        assert [process.returncode for process in started] == [0] * 4
        if group.most <= 1000:
            break
    assert 490 < group.most <= 1000
    assert parent.poll() is None
    assert site.log().removeprefix(logged).count("runs wait for other runs to end") == 1


@pytest.mark.parametrize(
    ("limit", "cached", "runs", "seconds", "at_once"),
    [(1536, 0, 8, 1.5, 8), (1000, 790, 4, 1, 4), (250, 0, 3, 0.2, 1)],
    ids=["ordinary runs do not wait", "cached files are free", "one run starts below the limit"],
)
def test_memory_small_runs(site, make_group, limit, cached, runs, seconds, at_once):
    group = make_group(limit)
    group.cached = cached
    site.parent(env=group.environment)
    began = time.monotonic()
    started = [site.start(TAKE, "40", str(seconds), env=group.environment) for _ in range(runs)]
    assert [process.wait(timeout=60) for process in started] == [0] * runs
    assert group.most == BASE + at_once * 40
    if at_once > 1:
        assert site.log() == ""
        assert time.monotonic() - began < 6


def test_memory_long_wait(site, make_group):
    group = make_group(600)
    parent = site.parent(env=group.environment)
    first = site.start(TAKE, "280", "7", env=group.environment)
    wait_for(lambda: group.most == BASE + 280)
    second = site.start("import os; print(os.getppid())", env=group.environment)
    assert second.communicate(timeout=30) == (f"{parent.pid}\n", "")
    assert first.wait(timeout=30) == 0
    # The next run is not affected.
    assert not list(site.directory.glob("*.warm"))
    assert site.answer("import os; print(os.getppid())", env=group.environment) == str(parent.pid)


def test_memory_killed_waiting_client(site, make_group):
    group = make_group(600)
    parent = site.parent(env=group.environment)
    first = site.start(TAKE, "280", "2", env=group.environment)
    wait_for(lambda: group.most == BASE + 280)
    mark = site.root / "mark"
    killed = site.start(f"open({str(mark)!r}, 'w')", env=group.environment)
    time.sleep(0.5)
    killed.kill()
    killed.wait()
    third = site.start("print('third')", env=group.environment)
    assert third.communicate(timeout=30) == ("third\n", "")
    assert first.wait(timeout=30) == 0
    assert not mark.exists()
    wait_for(lambda: children(parent.pid) == {})


def test_memory_killed_client_of_stopped_run(site, make_group):
    group = make_group(900)
    parent = site.parent(env=group.environment)
    started = [site.start(TAKE, "290", "2", env=group.environment) for _ in range(3)]
    wait_for(lambda: "T" in children(parent.pid).values())
    (pid,) = [pid for pid, state in children(parent.pid).items() if state == "T"][:1]
    own = next(item for item in started if is_client_of(item.pid, pid))
    own.kill()
    own.wait()
    wait_for(lambda: not is_running(pid))
    assert [item.wait(timeout=30) for item in started if item is not own] == [0, 0]


def is_client_of(client, run):
    """Whether a client and a run share their standard output."""
    return os.readlink(f"/proc/{client}/fd/1") == os.readlink(f"/proc/{run}/fd/1")


def test_memory_renewal_resumes_runs(site, make_group):
    group = make_group(900)
    parent = site.parent("--runs", 3, env=group.environment)
    started = [site.start(TAKE, "290", "1", env=group.environment) for _ in range(7)]
    assert [process.wait(timeout=60) for process in started] == [0] * 7
    assert group.most <= 900
    started = [site.start(TAKE, "290", "60", env=group.environment) for _ in range(2)]
    wait_for(lambda: sorted(children(parent.pid).values()) == ["S", "T"])
    parent.send_signal(signal.SIGTERM)
    assert parent.wait(timeout=20) == 0
    assert all(process.wait(timeout=20) for process in started)


@pytest.mark.parametrize(
    ("limit", "more"),
    [
        ("max", {}),
        pytest.param(str(2**63 - 4096), {}, marks=pytest.mark.nightly),
        pytest.param("1", {"PREFORK_RUN_MEMORY_MIB": "0"}, marks=pytest.mark.nightly),
        pytest.param("rubbish", {}, marks=pytest.mark.nightly),
    ],
)
def test_memory_without_limit(site, make_group, limit, more):
    environment = {**make_group(limit).environment, **more}
    site.parent(env=environment)
    started = [site.start(TAKE, "500", "0.5", env=environment) for _ in range(4)]
    assert [process.wait(timeout=60) for process in started] == [0] * 4
    assert site.log() == ""


def test_memory_own_groups(monkeypatch, tmp_path):
    """The group with the tightest limit counts, in any version."""
    inner = tmp_path / "memory" / "pods" / "one"
    inner.mkdir(parents=True)
    (inner / "memory.limit_in_bytes").write_text(str(2**63 - 4096))
    (inner.parent / "memory.limit_in_bytes").write_text(str(500 * MIB))
    (inner.parent / "memory.usage_in_bytes").write_text(str(450 * MIB))
    (inner.parent / "memory.stat").write_text(f"total_active_file {10 * MIB}\ntotal_inactive_file {5 * MIB}\n")
    (inner.parent.parent / "memory.limit_in_bytes").write_text(str(900 * MIB))
    monkeypatch.setattr(memory, "_SYSTEM", tmp_path)
    monkeypatch.setattr(memory, "_own_paths", lambda: ["4:memory:/pods/one", "3:cpuset:/", "0::/"])
    budget = memory.MemoryBudget({b"PREFORK_RUN_MEMORY_MIB": b"100"})
    assert budget.is_bounded
    assert (budget.lacks(65 * MIB), budget.lacks(66 * MIB)) == (False, True)
    (inner.parent / "memory.usage_in_bytes").unlink()
    assert not budget.lacks(1 << 50)
