# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Two builds of nimops-apiproxy from scratch, each with compiler caches of its own."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from nimops_image import apiproxy
from nimops_sandbox.gocache import GoCache


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
