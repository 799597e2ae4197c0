# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""How long commands of `kubectl nim` take."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from nimops_harness.errors import HarnessError
from nimops_harness.runtime import ROOT

from .results import Results

RUNS = 9
COMMANDS = {"command_help": ("status", "--help"), "command_status": ("status",)}
PATHS = (ROOT / "packages/kubectl-nim/src", ROOT / "build/collections")


def measure_commands(results: Results) -> None:
    """Add the seconds of each command, after one run that fills the caches."""
    for name, arguments in COMMANDS.items():
        results.add_seconds(name, [time_command(*arguments) for _ in range(RUNS + 1)][1:])


def time_command(*arguments: str) -> float:
    """The seconds of one command. HarnessError if it fails."""
    command = [sys.executable, "-m", "kubectl_nim", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PATHS))}
    began = time.monotonic()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise HarnessError(f"kubectl nim {' '.join(arguments)}: {done.stderr.strip()}")
    return time.monotonic() - began
