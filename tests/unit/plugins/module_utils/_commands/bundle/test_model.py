# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Folders with models; test_transfer.py packs one."""

from __future__ import annotations

import os

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle import model as module
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.layout import Layout
from ansible_collections.nimops.nim.plugins.module_utils._commands.bundle.model import (
    check_model_name,
    list_files,
    pack_model,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", "a:latest"),
        ("models/llama-3.2:1.0", "models/llama-3.2:1.0"),
        ("a/b_c", "a/b_c:latest"),
    ],
)
def test_check_model_name(name, expected):
    assert check_model_name(name) == expected


@pytest.mark.parametrize("name", ["", "A", "a:", "a@sha256:1", "../a", "a//b", "a:b:c", "a" * 300])
def test_check_model_name_invalid(name):
    with pytest.raises(NimError, match="is not a repository and a tag"):
        check_model_name(name)


def test_pack_model_is_reproducible(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "b").write_text("1")
    (folder / "a").write_text("2")
    counts = []
    layout = Layout.create(tmp_path / "bundle")
    first = pack_model(layout, folder, counts.append)
    os.utime(folder / "a", (1, 1))
    assert pack_model(Layout.create(tmp_path / "other"), folder, counts.append) == first
    assert sum(counts) == 4


def test_pack_model_copies_to_other_volume(tmp_path, monkeypatch):
    def refuse(*_args):
        raise OSError(18, "Invalid cross-device link")

    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "a").write_text("content")
    monkeypatch.setattr(module.os, "link", refuse)
    layout = Layout.create(tmp_path / "bundle")
    pack_model(layout, folder, lambda _size: None)
    assert "content" in [file.read_text() for file in layout.blobs.iterdir()]


def test_list_files(tmp_path):
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "lost+found/x").write_text("")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c").write_text("")
    (tmp_path / "a").symlink_to("b/c")
    found = list_files(tmp_path)
    assert [(path, file.name) for path, file in found] == [("a", "c"), ("b/c", "c")]


@pytest.mark.parametrize("kind", ["outside", "folder", "broken", "socket", "name"])
def test_list_files_refuses(tmp_path, kind):
    folder, outside = tmp_path / "model", tmp_path / "secret"
    folder.mkdir()
    outside.write_text("")
    (folder / "file").write_text("")
    if kind == "outside":
        (folder / "x").symlink_to(outside)
    elif kind == "folder":
        (folder / "y").mkdir()
        (folder / "x").symlink_to("y")
    elif kind == "broken":
        (folder / "x").symlink_to("nothing")
    elif kind == "socket":
        os.mkfifo(folder / "x")
    else:
        (folder / "x\n").write_text("")
    with pytest.raises(NimError, match=r"^models: .*(neither a file|plain text)"):
        list_files(folder)


def test_list_files_none(tmp_path):
    with pytest.raises(NimError, match="has no files"):
        list_files(tmp_path)


def test_list_files_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_FILES", 1)
    for name in "ab":
        (tmp_path / name).write_text("")
    with pytest.raises(NimError, match="more than 1 files"):
        list_files(tmp_path)
