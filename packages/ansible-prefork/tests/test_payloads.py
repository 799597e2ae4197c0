# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The cache of module payloads of a run, which its workers share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from ansible_prefork import payloads

WORKERS = 8


@pytest.fixture
def directories(tmp_path):
    """The directory of kept payloads, and the missing cache of a run."""
    shared, own = tmp_path / "payloads", tmp_path / "run" / "ansiballz_cache"
    shared.mkdir()
    own.parent.mkdir()
    return shared, own


def test_fetch_by_workers_at_once(directories, monkeypatch):
    """The workers of several hosts need their first module at the same time."""
    shared, own = directories
    names = {f"ansible_collections.some.module{index}" for index in range(20)}
    for name in names:
        (shared / name).write_text(name)
    barrier = Barrier(WORKERS)
    mkdir = Path.mkdir

    def wait_for_all(path, *arguments, **options):
        if path == own:
            barrier.wait()
        mkdir(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", wait_for_all)
    with ThreadPoolExecutor(WORKERS) as workers:
        list(workers.map(lambda _: payloads._fetch(shared, own), range(WORKERS)))
    assert {entry.name for entry in own.iterdir()} == names


def test_fetch_keeps_own_module(directories, monkeypatch):
    shared, own = directories
    for name in ("one", "two"):
        (shared / name).write_text("kept")
    mkdir = Path.mkdir

    def build_at_once(path, *arguments, **options):
        mkdir(path, *arguments, **options)
        if path == own:
            (own / "one").write_text("built")

    monkeypatch.setattr(Path, "mkdir", build_at_once)
    payloads._fetch(shared, own)
    assert {path.name: path.read_text() for path in own.iterdir()} == {"one": "built", "two": "kept"}
