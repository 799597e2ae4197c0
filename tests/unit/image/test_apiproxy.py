# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest
from nimops_image import apiproxy
from nimops_sandbox import gocache
from nimops_sandbox.gocache import GoCache


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_build_reproducible(tmp_path: Path) -> None:
    files = []
    for name in ("one", "another"):
        source = tmp_path / name / "apiproxy"
        shutil.copytree(apiproxy.SOURCE, source)
        cache = GoCache(tmp_path / name / "cache", print)
        files.append(apiproxy.build_apiproxy(cache, "1.2.3", platform.machine(), source))
    first, second = files
    assert first != second
    assert first.read_bytes() == second.read_bytes()
    version = subprocess.run([first, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == "nimops-apiproxy 1.2.3\n"
    described = subprocess.run(
        ["go", "version", "-m", first], capture_output=True, text=True, check=True
    )
    assert "\tmod\tnimops.nim/apiproxy\t(devel)\t" in described.stdout


def test_build_for_image_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = {}

    def run(_cache: GoCache, command: list[str], _source: Path, _doing: str, **extra: str) -> str:
        Path(command[command.index("-o") + 1], apiproxy.PROGRAM).write_text(extra["GOARCH"])
        return ""

    monkeypatch.setattr(gocache, "read_compiler", lambda: "go1.26/linux/amd64")
    monkeypatch.setattr(GoCache, "run", run)
    cache = GoCache(tmp_path, print)
    for machine in ("x86_64", "aarch64"):
        built[machine] = apiproxy.build_apiproxy(cache, "1.2.3", machine).read_text()
    assert built == {"x86_64": "amd64", "aarch64": "arm64"}
    assert len(list(tmp_path.glob("nimops-apiproxy-*"))) == 2
