# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Virtual environments: the same locked packages with uv and with pip alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYTHON = """#!/bin/sh
mkdir -p "$4/bin"
printf '#!/bin/sh\\necho pip "$@" >>%s\\n' "$LOG" >"$4/bin/pip"
chmod +x "$4/bin/pip"
echo python "$@" >>"$LOG"
"""
UV = '#!/bin/sh\necho uv "$@" >>"$LOG"\n'
HASHES = "--require-hashes --requirement"


def write_program(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        pytest.param({}, [f"pip install {HASHES} {name}" for name in "ab"], id="pip"),
        pytest.param(
            {"uv": UV},
            [f"uv pip install --compile-bytecode {HASHES} {name}" for name in "ab"],
            id="uv",
        ),
        pytest.param(
            {"uv": UV.replace("echo", "exit 2; echo")},
            [f"pip install {HASHES} {name}" for name in "ab"],
            id="uv without a registry",
        ),
    ],
)
def test_create_venv(tmp_path, programs, expected):
    python = write_program(tmp_path / "python", PYTHON)
    for name, text in programs.items():
        write_program(tmp_path / "bin" / name, text)
    log = tmp_path / "log"
    environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "PYTHON": str(python), "LOG": str(log)}
    command = [str(ROOT / "hack/create_venv.sh"), str(tmp_path / "venv"), "a", "b"]
    subprocess.run(command, env=environ, check=True)
    first, *installs = log.read_text().splitlines()
    assert first == f"python -m venv --clear {tmp_path / 'venv'}"
    target = ("--quiet", "--disable-pip-version-check", "--python", f"{tmp_path}/venv/bin/python")
    found = [" ".join(word for word in line.split() if word not in target) for line in installs]
    assert found == expected


def test_provide_uv_of_path(tmp_path):
    program = write_program(tmp_path / "uv", UV)
    environ = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [str(ROOT / "hack/provide_uv.sh")], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{program.parent}\n"


@pytest.mark.parametrize("file", sorted((ROOT / "requirements").glob("*.in")), ids=lambda f: f.stem)
def test_lock_has_hashes(file):
    """Each requirement is pinned to one version with hashes, which both programs verify."""
    text = file.with_suffix(".txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert lines
    assert [line for line in lines if "==" not in line or "--hash=sha256:" not in line] == []
