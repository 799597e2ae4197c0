# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The PostgreSQL server of tests/database: access control, and complete removal."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
from pathlib import Path

import postgresql
import psycopg
import pytest
from nimops_sandbox.errors import SandboxError, SetupError
from nimops_sandbox.processes import identify, is_alive


def test_up_and_down(tmp_path: Path) -> None:
    home = tmp_path / "postgresql"
    server = postgresql.up(home)
    try:
        assert postgresql.up(home) == server
        assert stat.S_IMODE((home / "server.json").stat().st_mode) == 0o600
        assert Path(f"/proc/{server.process.pid}").stat().st_uid != 0
        with psycopg.connect(**server.connection) as connection:
            found = connection.execute("SHOW listen_addresses").fetchone()
        assert found == ("127.0.0.1",)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(**server.connection | {"password": "another"})
    finally:
        postgresql.down(home)
    assert not is_alive(server.process)
    assert not home.exists()
    assert not Path(server.folder).exists()
    postgresql.down(home)


def test_down_reused_pid(tmp_path: Path) -> None:
    me = identify(os.getpid())
    assert me
    other = dataclasses.replace(me, start=me.start - 1)
    folder = tmp_path / "data"
    folder.mkdir()
    postgresql._save(postgresql.Server(other, str(folder), 1, "x"), tmp_path)
    postgresql.down(tmp_path)
    assert identify(os.getpid()) == me
    assert not folder.exists()


@pytest.mark.parametrize("text", ["{", json.dumps({"port": 1})])
def test_load_invalid(tmp_path: Path, text: str) -> None:
    (tmp_path / "server.json").write_text(text)
    with pytest.raises(SandboxError, match=r"server\.json cannot be read"):
        postgresql.down(tmp_path)


def test_find_programs_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "PACKAGE", "no_such_package")
    with pytest.raises(SetupError, match="no_such_package is missing"):
        postgresql.find_programs()
