# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Each sample becomes what it became before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

SCRIPT = Path(__file__).resolve().parents[3] / "tests/golden/samples.py"


def test_the_samples_become_what_they_became() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_new_gone_or_changed_is_shown(
    load_module: Callable[[Path], ModuleType],
) -> None:
    script = load_module(SCRIPT)
    golden = {"same": "a\n", "changed": "a\nb\n", "gone": "a\n"}
    shown = script.compare(golden, {"same": "a\n", "changed": "a\nc\n", "new": "a\n"})
    assert [line for line in shown.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")] == [
        "-b", "+c", "-a", "+a",
    ]  # fmt: skip
    assert "golden/same" not in shown
