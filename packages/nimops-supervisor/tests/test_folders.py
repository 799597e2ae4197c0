# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import math
import os
import time
from pathlib import Path

import pytest

from nimops_supervisor import folders, settings
from nimops_supervisor.guard import LAST_RUN


def make_folder(root, below, age=None):
    folder = root / below
    (folder / "artifacts/1").mkdir(parents=True)
    (folder / "artifacts/1/stdout").write_text("x")
    if age is not None:
        mark = folder / LAST_RUN
        mark.touch()
        os.utime(mark, (time.time() - age,) * 2)
    return folder


def test_sweep_marked_and_quiet(tmp_path):
    ages = {"gone": 10, "fresh": 0, "kept": None}
    for name, age in ages.items():
        make_folder(tmp_path, f"a.b/v1/K/ns/{name}", age=age)
    assert [folders.sweep(tmp_path), folders.sweep(tmp_path)] == [1, 0]
    assert names(tmp_path / "a.b/v1/K/ns") == ["fresh", "kept"]


def test_sweep_folder_deleted_meanwhile(tmp_path, monkeypatch):
    def glob(*_):
        raise FileNotFoundError(".trash")
        yield

    monkeypatch.setattr(Path, "glob", glob)
    assert folders.sweep(tmp_path) == 0


def test_sweep_empty_namespace(tmp_path):
    make_folder(tmp_path, "a.b/v1/K/ns/gone", age=10)
    make_folder(tmp_path, "a.b/v1/Wide/gone", age=10)
    assert folders.sweep(tmp_path) == 2
    assert sorted(str(item.relative_to(tmp_path)) for item in tmp_path.rglob("*")) == ["a.b", "a.b/v1", "a.b/v1/K"]


def test_sweep_resource_named_like_mark(tmp_path):
    kept = make_folder(tmp_path, f"a.b/v1/K/ns/{LAST_RUN}")
    os.utime(kept, (1, 1))
    folders.sweep(tmp_path)
    assert kept.exists()


def test_sweep_many(tmp_path):
    for number in range(200):
        make_folder(tmp_path, f"a.b/v1/K/ns/n{number}", age=10)
    assert folders.sweep(tmp_path) == 200
    assert not (tmp_path / "a.b/v1/K/ns").exists()


def test_clear_all(tmp_path):
    root = tmp_path / "runner"
    make_folder(root, "a.b/v1/K/ns/x")
    folders.clear(root)
    assert not root.exists()
    folders.clear(root)


@pytest.mark.parametrize("what", ["link", "other"])
def test_clear_foreign_root(tmp_path, monkeypatch, what):
    real = tmp_path / "real"
    make_folder(real, "a.b/v1/K/ns/x")
    root = real
    if what == "link":
        root = tmp_path / "link"
        root.symlink_to(real)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    folders.clear(root)
    assert (real / "a.b").exists()


def test_clear_sockets(tmp_path):
    import socket

    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "ansibleoperator-1"))
    (tmp_path / "ansibleoperator-2").write_text("no socket")
    with socket.socket(socket.AF_UNIX) as live:
        live.bind(str(tmp_path / "ansibleoperator-3"))
        live.listen()
        folders.clear_sockets(tmp_path, age=60)
        assert len(list(tmp_path.iterdir())) == 3
        folders.clear_sockets(tmp_path)
        assert names(tmp_path) == ["ansibleoperator-2", "ansibleoperator-3"]
        folders.clear_sockets(tmp_path, lost_age=60)
        assert names(tmp_path) == ["ansibleoperator-2", "ansibleoperator-3"]
        os.utime(tmp_path / "ansibleoperator-3", (time.time() - 61,) * 2)
        folders.clear_sockets(tmp_path)
        assert names(tmp_path) == ["ansibleoperator-2", "ansibleoperator-3"]
        folders.clear_sockets(tmp_path, lost_age=60)
    assert names(tmp_path) == ["ansibleoperator-2"]


def names(folder):
    return sorted(item.name for item in folder.iterdir())


def test_lost_seconds(monkeypatch):
    monkeypatch.setenv("NIMOPS_RUN_SECONDS", "20")
    assert settings.lost_seconds() == 80
    monkeypatch.setenv("NIMOPS_RUN_SECONDS", "0")
    assert settings.lost_seconds() == math.inf


def test_sweep_temporary(tmp_path):
    import subprocess

    gone = subprocess.Popen(["true"])
    gone.wait()
    mine = os.getpid()
    for name in (
        f"local-{gone.pid}abcdefg_",
        f"local-{mine}abcdefgh",
        f"tmp-1.5-{gone.pid}-7",
        f"tmp-1.5-{mine}-7",
        "x",
    ):
        (tmp_path / f"ansible-{name}/below").mkdir(parents=True)
    folders.sweep_temporary(tmp_path)
    assert names(tmp_path) == [f"ansible-local-{mine}abcdefgh", f"ansible-tmp-1.5-{mine}-7", "ansible-x"]


def test_remove_abandoned(tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned = tmp_path / "nimops-supervisor-dead"
    abandoned.mkdir()
    (abandoned / "lock").touch()
    other = tmp_path / "nimops-supervisor-other"
    other.mkdir()
    with folders.scratch() as used:
        folders.remove_abandoned(tmp_path)
        assert sorted(tmp_path.iterdir()) == sorted([used, other])
    assert list(tmp_path.iterdir()) == [other]
