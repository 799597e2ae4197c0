# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Slots of one process; test_timeouts.py tests the exclusion of several processes."""

from __future__ import annotations

import os
import stat
import tempfile
import typing as t
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http import slots as module
from ansible_collections.nimops.nim.plugins.module_utils._http.slots import SLOTS_VARIABLE, Slots


class Locks:
    """Record locks of other processes: bytes that are held."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.held: set[int] = set()
        self.taken: list[int] = []
        monkeypatch.setattr(module.fcntl, "lockf", self._lock)

    def _lock(self, _file: int, _how: int, _size: int, byte: int) -> None:
        if byte in self.held:
            raise BlockingIOError
        self.taken.append(byte)

    @property
    def slots(self) -> list[int]:
        return [byte for byte in self.taken if 0 < byte < 1 << 16]


@pytest.fixture
def locks(monkeypatch: pytest.MonkeyPatch) -> Locks:
    return Locks(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "slots"


def wait(folder: Path, namespace: str) -> bool:
    slots = Slots(folder)
    is_taken = slots.take(namespace)
    slots.release()
    return is_taken


@pytest.mark.parametrize(
    ("held", "count", "expected"),
    [
        pytest.param(set(), "", [1], id="free"),
        pytest.param({1}, "", [2], id="one held"),
        pytest.param({1, 2}, "", [], id="all held"),
        pytest.param({1, 2}, "3", [3], id="more slots"),
        pytest.param({1}, "1", [], id="one slot"),
        pytest.param(set(), "0", [1], id="at least one"),
        pytest.param({1}, "many", [2], id="no number"),
    ],
)
def test_take_slots(
    folder: Path, locks: Locks, monkeypatch: t.Any, held: t.Any, count: str, expected: t.Any
) -> None:
    monkeypatch.setenv(SLOTS_VARIABLE, count)
    locks.held = held
    assert wait(folder, "a") is bool(expected)
    assert locks.slots == expected


def test_take_one_per_namespace(folder: Path, locks: Locks) -> None:
    assert wait(folder, "a")
    locks.held = {locks.taken[0]}
    assert not wait(folder, "a")
    assert wait(folder, "b")


def test_take_failure_closes_file(folder: Path, locks: Locks) -> None:
    files = len(os.listdir("/proc/self/fd"))
    locks.held = {1, 2}
    assert not wait(folder, "a")
    assert len(os.listdir("/proc/self/fd")) == files


def make_link(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "elsewhere")


def make_file_link(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    (folder / "locks").symlink_to(folder.parent / "victim")


@pytest.mark.parametrize(
    "prepare",
    [
        pytest.param(make_link, id="a link"),
        pytest.param(make_file_link, id="a link in it"),
        pytest.param(lambda folder: folder.write_text(""), id="a file"),
        pytest.param(lambda folder: (folder.mkdir(), folder.chmod(0o770)), id="open to a group"),
        pytest.param(lambda folder: folder.parent.chmod(0o500), id="read-only"),
    ],
)
def test_take_refuses_unsafe_folder(folder: Path, prepare: t.Any) -> None:
    prepare(folder)
    if folder.parent.stat().st_mode & 0o200 == 0 and os.geteuid() == 0:
        folder.write_text("")  # root may write anywhere
    assert not wait(folder, "a")
    assert not (folder.parent / "victim").exists()
    folder.parent.chmod(0o700)


def test_take_refuses_folder_of_other_user(folder: Path, monkeypatch: t.Any) -> None:
    assert wait(folder, "a")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not wait(folder, "a")


def test_take_default_folder(tmp_path: Path, monkeypatch: t.Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    slots = Slots()
    assert list(tmp_path.iterdir()) == []
    assert slots.take("a")
    slots.release()
    folder = tmp_path / f"nimops-slots-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
