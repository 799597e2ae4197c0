# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Programs of the sandbox, built if they are missing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def build(name: str) -> str:
    """The path of a program."""
    command = [sys.executable, str(ROOT / "sandbox"), "build", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    [path] = re.findall(rf"(?m)^{name} +(.+)$", done.stdout)
    return str(path)
