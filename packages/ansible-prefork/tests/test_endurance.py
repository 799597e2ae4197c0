# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from endurance import endure
from harness import make_site

pytest.importorskip("ansible_runner")
# ``endurance.py`` plays 2,000 by default.
RUNS = int(os.environ.get("PREFORK_ENDURANCE_RUNS", "300"))


@pytest.mark.parametrize("restart_after", [1_000_000, 90], ids=["one parent", "restarts"])
def test_endure_leaves_nothing(restart_after, capsys):
    with make_site(fake=False) as site:
        site.environment["PATH"] += f":{Path(sys.executable).parent}"
        lines: list[str] = []
        problems = endure(site, RUNS, restart_after, lines.append)
    with capsys.disabled():
        print("", *lines, sep="\n")
    assert problems == []
