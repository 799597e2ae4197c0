# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
from nimops_sandbox import processes, state
from nimops_sandbox.errors import SandboxError
from nimops_sandbox.ports import Ports
from nimops_sandbox.processes import Process
from nimops_sandbox.state import State


def test_save_and_load(tmp_path: Path) -> None:
    saved = State(Ports(7000), {"etcd": Process(12, 345, "boot")}, ("lws",))
    state.save(saved, tmp_path / "state.json")
    assert state.load(tmp_path / "state.json") == saved
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_load_earlier(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text('{"port": 7000, "processes": {}}')
    assert state.load(path) == State(Ports(7000))


def test_load_missing(tmp_path: Path) -> None:
    assert state.load(tmp_path / "state.json") is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"port": 1, "processes": {"etcd": {"pid": 1}}}'])
def test_load_invalid(text: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(SandboxError, match=r"state.json cannot be read"):
        state.load(path)


def test_alive() -> None:
    living = processes.identify(os.getpid())
    assert living is not None
    stale = Process(living.pid, living.start + 1, living.boot)
    assert State(Ports(7000), {"etcd": living, "kwok": stale}).alive() == {"etcd": living}
