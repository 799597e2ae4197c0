# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of the machine: run them, or say which ones are missing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nimops_sandbox.errors import SandboxError, SetupError

Say = Callable[[str], None]

_LAST_LINES = 15


def run(command: Sequence[str | Path], **extra: str) -> str:
    """Return the output of a command. SandboxError with its last lines if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, **extra}
    )
    if done.returncode:
        last = "\n".join((done.stderr + done.stdout).rstrip().splitlines()[-_LAST_LINES:])
        raise SandboxError(f"{' '.join(words[:3])} … failed with {done.returncode}:\n{last}")
    return done.stdout


def require(programs: Mapping[str, str], purpose: str, say: Say) -> None:
    """Install the Debian packages of missing programs. SetupError if that is not possible."""
    missing = {name: package for name, package in programs.items() if shutil.which(name) is None}
    if not missing:
        return
    packages = sorted(set(missing.values()))
    if os.geteuid() or shutil.which("apt-get") is None:
        raise SetupError(
            f"{purpose} needs {', '.join(sorted(missing))}: install them"
            f" (on Debian: apt-get install {' '.join(packages)}), or run this as root on Debian"
        )
    say(f"installing Debian packages: {' '.join(packages)}")
    run(["apt-get", "update", "--quiet"])
    command = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends"]
    run([*command, *packages], DEBIAN_FRONTEND="noninteractive")
