# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_sandbox.node import mounts
from nimops_sandbox.node.mounts import Mount

TABLE = r"""21 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 21 0:26 / /sys/fs/cgroup/pids rw shared:9 master:1 - cgroup cgroup rw,pids
31 21 0:4 net:[4026532] /a\040folder/network rw - nsfs nsfs rw
32 21 0:4 mnt:[4026533] /a\134b rw - nsfs nsfs rw
"""


def test_parse() -> None:
    assert mounts.parse(TABLE) == [
        Mount(Path("/"), "ext4"),
        Mount(Path("/sys/fs/cgroup/pids"), "cgroup"),
        Mount(Path("/a folder/network"), "nsfs"),
        Mount(Path("/a\\b"), "nsfs"),
    ]


def test_count_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    line = f"31 21 0:4 / {tmp_path}/real rw - tmpfs tmpfs rw\n"
    (tmp_path / "table").write_text(line + line)
    monkeypatch.setattr(mounts, "TABLE", tmp_path / "table")
    assert mounts.count(tmp_path / "link") == 2
    assert mounts.count(tmp_path) == 0


def test_of_all_processes(tmp_path: Path) -> None:
    for name in ("1", "22", "self"):
        (tmp_path / name).mkdir()
        line = f"31 21 0:4 / /of/{name} rw - tmpfs tmpfs rw\n"
        (tmp_path / name / "mountinfo").write_text(line)
    (tmp_path / "3").mkdir()
    assert mounts.of_all_processes(tmp_path) == {Path("/of/1"), Path("/of/22")}
