# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/supply"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "hack/image"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "release"))

from nimops_release.programs import find_program
from registry import PASSWORD

SERVING = re.compile(r"serving on port (\d+)")


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The cache where cosign would store the keys of public services."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def run(home):
    """Run cosign or crane, with no other configuration."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "COSIGN_PASSWORD": PASSWORD}

    def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(find_program(name)), *words]
        return subprocess.run(
            command, env=environ, cwd=home, capture_output=True, text=True, check=False
        )

    return run


@pytest.fixture(scope="session")
def registry(home):
    log = home / "registry.log"
    command = [str(find_program("crane")), "registry", "serve", "--address=127.0.0.1:0"]
    with log.open("w") as output, subprocess.Popen(command, stderr=output) as server:
        try:
            while not (match := SERVING.search(log.read_text())):
                assert server.poll() is None, log.read_text()
            yield f"127.0.0.1:{match[1]}"
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def keys(run, home):
    """Two key pairs, by file name without suffix."""
    for name in ("ours", "other"):
        done = run("cosign", "generate-key-pair", f"--output-key-prefix={name}")
        assert done.returncode == 0, done.stderr
    return home / "ours", home / "other"
