# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""External programs: kubectl from PATH, others pinned and built by the sandbox."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import ReleaseError

REPOSITORY = Path(__file__).resolve().parents[2]
ON_PATH = ("kubectl",)


@functools.cache
def find_program(name: str) -> Path:
    """Return the path of a program; the first build can take minutes."""
    found = shutil.which(name) if name in ON_PATH else None
    return Path(found) if found else _build(name)


def _build(name: str) -> Path:
    command = [sys.executable, str(REPOSITORY / "sandbox"), "build", name]
    # Progress and errors go to our stderr.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        program, _space, path = line.partition(" ")
        if program == name:
            return Path(path.strip())
    raise ReleaseError(f"{name} could not be built: see above")


def run_program(name: str, *arguments: str, prompts: bool = False) -> str:
    """Run a program; return its output. Raises ReleaseError with the output of a failure.

    ``prompts``: the program may prompt, so its stderr is passed through.
    """
    command = [str(find_program(name)), *arguments]
    errors = None if prompts else subprocess.PIPE
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    if done.returncode:
        said = "see above" if prompts else (done.stderr + done.stdout).strip()
        raise ReleaseError(f"{name} {' '.join(arguments)} failed:\n{said}")
    return done.stdout


def run(command: Sequence[str], folder: Path, environ: dict[str, str] | None = None) -> str:
    """Run a command; return its output. Its progress goes to our stderr."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)} in {folder} failed:\n{done.stdout.strip()}")
    return done.stdout
