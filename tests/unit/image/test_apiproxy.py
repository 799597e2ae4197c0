# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_image import apiproxy
from nimops_sandbox import gocache
from nimops_sandbox.gocache import GoCache


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
