# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
from nimops_sandbox import snapshots
from nimops_sandbox.snapshots import Snapshot

LOG = bytes(1 << 20) + b"entry" + bytes(1 << 20)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data directory of an etcd, with a preallocated log."""
    folder = tmp_path / "one/etcd"
    (folder / "member/wal").mkdir(parents=True, mode=0o700)
    (folder / "member/wal/0.wal").write_bytes(LOG)
    (folder / "member/wal/0.wal").chmod(0o600)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def test_restore_what_was_taken(data: Path, cache: Path, tmp_path: Path) -> None:
    Snapshot(cache, "a").take(data)
    other = tmp_path / "etcd"
    assert Snapshot(cache, "a").restore(other)
    log = other / "member/wal/0.wal"
    assert log.read_bytes() == LOG
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.stat().st_blocks * 512 < len(LOG) / 4


def test_restore_none(data: Path, cache: Path, tmp_path: Path) -> None:
    Snapshot(cache, "a").take(data)
    assert not Snapshot(cache, "b").restore(tmp_path / "etcd")
    assert not Snapshot(tmp_path / "absent", "a").restore(tmp_path / "etcd")
    assert not (tmp_path / "etcd").exists()


def test_restore_after_interruption(data: Path, cache: Path, tmp_path: Path) -> None:
    Snapshot(cache, "a").take(data)
    (tmp_path / "etcd.new/member/half").mkdir(parents=True)
    assert Snapshot(cache, "a").restore(tmp_path / "etcd")
    assert sorted(it.name for it in (tmp_path / "etcd/member").iterdir()) == ["wal"]
    assert not (tmp_path / "etcd.new").exists()


def test_take_removes_the_oldest(data: Path, cache: Path, tmp_path: Path) -> None:
    names = [f"{number:02}" for number in range(9)]
    for age, name in enumerate(names[:-1]):
        Snapshot(cache, name).take(data)
        os.utime(cache / f"etcd-data-{name}", (age, age))
    assert Snapshot(cache, "00").restore(tmp_path / "etcd")  # used last
    (cache / "etcd-0").mkdir()  # a program
    Snapshot(cache, names[-1]).take(data)
    left = sorted(it.name for it in cache.iterdir())
    assert left == ["etcd-0", *(f"etcd-data-{name}" for name in names if name != "01")]


def test_locked_creates_the_cache(tmp_path: Path) -> None:
    waits: list[str] = []
    with Snapshot(tmp_path / "new/cache", "a").locked(lambda: waits.append("waiting")):
        assert (tmp_path / "new/cache").is_dir()
    assert not waits


def test_make_key_inputs(tmp_path: Path) -> None:
    program = tmp_path / "etcd"
    program.write_text("1")
    first = snapshots.make_key([program], ["a", "b"])
    assert first == snapshots.make_key([program], ["a", "b"])
    assert first != snapshots.make_key([program], ["ab"])
    assert first != snapshots.make_key([], ["a", "b"])
    program.write_text("12")
    assert first != snapshots.make_key([program], ["a", "b"])


@pytest.mark.parametrize("content", [b"", b"x", bytes(5), bytes(1 << 16), LOG, b"x" + LOG])
def test_copy_sparse(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    snapshots.copy_sparse(str(tmp_path / "a"), str(tmp_path / "b"))
    assert (tmp_path / "b").read_bytes() == content
