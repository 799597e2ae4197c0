# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Generated files agree with the declarations of the kinds, and with the CRDs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("program", ["generate_gitops", "generate_kinds", "generate_modules"])
def test_generated_files(program: str) -> None:
    command = [sys.executable, str(ROOT / f"hack/{program}.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
