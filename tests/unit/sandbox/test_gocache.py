# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_sandbox import gocache
from nimops_sandbox.errors import SandboxError, SetupError
from nimops_sandbox.gocache import GoCache

GO = "go1.26/linux/amd64"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "tool"
    folder.mkdir()
    for name in ("go.mod", "go.sum", "main.go"):
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoCache:
    monkeypatch.setattr(gocache, "read_compiler", lambda: GO)
    return GoCache(tmp_path / "cache", lambda line: None)


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go", "more.go", "one/main.go"])
def test_cache_key_files(source: Path, name: str) -> None:
    before = gocache.cache_key(source, "build", GO)
    (source / name).parent.mkdir(exist_ok=True)
    (source / name).write_text("changed")
    assert gocache.cache_key(source, "build", GO) != before


def test_cache_key_recipe_and_compiler(source: Path) -> None:
    before = gocache.cache_key(source, "build", GO)
    (source / "notes.txt").touch()
    assert gocache.cache_key(source, "build", GO) == before
    assert gocache.cache_key(source, "build -race", GO) != before
    assert gocache.cache_key(source, "build", "go1.27/linux/amd64") != before


def test_provide_once(cache: GoCache, source: Path) -> None:
    made = []

    def make(result: Path) -> None:
        made.append(result)
        (result / "program").touch()

    first = cache.provide(source, "build", make)
    assert (first / "program").exists()
    assert cache.provide(source, "build", make) == first
    assert len(made) == 1


def test_provide_failure(cache: GoCache, source: Path) -> None:
    def fail(result: Path) -> None:
        (result / "half").touch()
        raise SandboxError("no network")

    with pytest.raises(SandboxError, match="no network"):
        cache.provide(source, "build", fail)
    assert not [path for path in cache.root.iterdir() if path.is_dir()]


def test_read_compiler_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="Go was not found on PATH: install Go"):
        gocache.read_compiler()


def test_run_failure(cache: GoCache, tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo module not found >&2; exit 1"]
    with pytest.raises(SandboxError, match=r"building it: .* failed:\nmodule not found"):
        cache.run(command, tmp_path, "building it")
