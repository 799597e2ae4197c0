# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of the machine: run them, or report the missing ones."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nimops_sandbox.errors import SandboxError, SetupError
from nimops_sandbox.node import host

Notify = Callable[[str], None]

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


def require(programs: Mapping[str, str], purpose: str) -> None:
    """Raise SetupError, naming programs and Debian packages, unless all programs are there."""
    if lacking := _missing(programs):
        raise SetupError(
            f"{purpose} needs {', '.join(sorted(lacking))}: install them"
            f" (Debian: apt-get install {_packages(lacking)})"
        )


def install(programs: Mapping[str, str], notify: Notify) -> None:
    """Install the Debian packages of missing programs, if run as root on Debian."""
    lacking = _missing(programs)
    if lacking and not os.geteuid() and shutil.which("apt-get"):
        host.install(lacking, 0, notify)


def _missing(programs: Mapping[str, str]) -> dict[str, str]:
    return {name: package for name, package in programs.items() if shutil.which(name) is None}


def _packages(lacking: Mapping[str, str]) -> str:
    return " ".join(sorted(set(lacking.values())))
