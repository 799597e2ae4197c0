# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from nimops_sandbox.errors import SandboxError
from nimops_sandbox.node import cgroup
from nimops_sandbox.node.mounts import Mount

V1 = ("cpu", "pids")


def make(root: Path, *names: str, unified: str = "") -> cgroup.ControlGroup:
    """Return a group in hierarchies of plain folders."""
    table = [Mount(root / name, "cgroup") for name in names]
    table += [Mount(root / unified, "cgroup2")] if unified else []
    for mount in table:
        mount.path.mkdir(parents=True, exist_ok=True)
    return cgroup.find("ours", [Mount(root, "ext4"), *table])


@pytest.mark.parametrize(
    ("names", "unified", "place"),
    [
        pytest.param(V1, "", "cpu", id="version 1"),
        pytest.param(V1, "unified", "unified", id="hybrid"),
        pytest.param((), "all", "all", id="version 2"),
    ],
)
def test_join(tmp_path: Path, names: tuple[str, ...], unified: str, place: str) -> None:
    group = make(tmp_path, *names, unified=unified)
    if unified:
        (tmp_path / unified / "cgroup.controllers").write_text("cpu pids\n")
    group.create()
    group.create()
    group.join()
    joined = [path.relative_to(tmp_path) for path in tmp_path.rglob("cgroup.procs")]
    assert joined == [Path(place, "ours/processes/cgroup.procs")]
    assert group.pids() == {os.getpid()}
    for name in filter(None, (*names, unified)):
        assert (tmp_path / name / "ours").is_dir()


def test_create_version_2(tmp_path: Path) -> None:
    group = make(tmp_path, unified="all")
    (tmp_path / "all/cgroup.controllers").write_text("cpu memory\n")
    group.create()
    for folder in ("all", "all/ours"):
        assert (tmp_path / folder / "cgroup.subtree_control").read_text() == "+cpu +memory"


def test_create_hybrid(tmp_path: Path) -> None:
    group = make(tmp_path, "cpu", unified="unified")
    (tmp_path / "unified/cgroup.controllers").write_text("\n")
    group.create()
    assert not list(tmp_path.rglob("cgroup.subtree_control"))


def test_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = make(tmp_path, *V1)
    with subprocess.Popen(["sleep", "60"]) as first, subprocess.Popen(["sleep", "60"]) as second:
        for path, pid in (("cpu/ours/processes", first.pid), ("pids/ours/pods/one", second.pid)):
            (tmp_path / path).mkdir(parents=True)
            (tmp_path / path / "cgroup.procs").write_text(f"{pid}\n")

        kill = os.kill

        def end(pid: int, number: signal.Signals) -> None:
            """Simulates the kernel: a process that ends leaves its group."""
            kill(pid, number)
            for file in tmp_path.rglob("cgroup.procs"):
                if file.read_text() == f"{pid}\n":
                    file.write_text("")

        monkeypatch.setattr(os, "kill", end)
        group.kill()
    assert (first.returncode, second.returncode) == (-signal.SIGKILL, -signal.SIGKILL)


def test_remove_inner_first(tmp_path: Path) -> None:
    group = make(tmp_path, *V1)
    (tmp_path / "cpu/ours/pods/one").mkdir(parents=True)
    (tmp_path / "cpu/other").mkdir()
    group.remove()
    assert not (tmp_path / "cpu/ours").exists()
    assert (tmp_path / "cpu/other").exists()


def test_remove_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_PATIENCE", -1.0)
    group = make(tmp_path, "cpu")
    (tmp_path / "cpu/ours").mkdir()
    (tmp_path / "cpu/ours/file").touch()
    with pytest.raises(SandboxError, match=r"cpu/ours cannot be removed"):
        group.remove()


def test_find_missing() -> None:
    with pytest.raises(SandboxError, match="no control groups"):
        cgroup.find("ours", [Mount(Path("/"), "ext4")])
