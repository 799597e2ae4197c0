# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_sandbox.node import mounts, namespaces


def test_remove_points_last_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, used, foreign = (tmp_path / name for name in ("made", "used", "foreign"))
    foreign.mkdir()
    monkeypatch.setattr(
        namespaces, "_FOLDERS", {str(path): path.name for path in (made, used, foreign)}
    )
    for point in (made, used, foreign, made):
        namespaces._make_point(point)
    monkeypatch.setattr(mounts, "of_all_processes", lambda: {used})
    namespaces._remove_points()
    assert sorted(tmp_path.iterdir()) == [foreign, used]
    monkeypatch.setattr(mounts, "of_all_processes", set)
    namespaces._remove_points()
    assert list(tmp_path.iterdir()) == [foreign]


def test_remove_points_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = tmp_path / "point"
    monkeypatch.setattr(namespaces, "_FOLDERS", {str(point): "point"})
    namespaces._make_point(point)
    (point / "file").touch()
    monkeypatch.setattr(mounts, "of_all_processes", set)
    namespaces._remove_points()
    assert [path.name for path in point.iterdir()] == ["file"]
