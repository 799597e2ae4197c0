# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reports of the unit tests, by the collection of PYTHONPATH or of `make collection`."""

from __future__ import annotations

import os
import runpy
import sys
import typing as t

from .fleet import ROOT

if not os.environ.get("PYTHONPATH"):
    sys.path.insert(0, str(ROOT / "build/collections"))

from ansible_collections.nimops.nim.plugins.module_utils._commands.report.model import (  # the path
    Report,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.page import (  # the path
    write_page,
)

_UNIT = ROOT / "tests/unit/plugins/module_utils/_commands/report"
_SAMPLES = runpy.run_path(str(_UNIT / "conftest.py"))
HOSTILE: str = "x" + "".join(runpy.run_path(str(_UNIT / "test_page.py"))["HOSTILE"])
"""A text that tries to be markup in all ways."""

__all__ = ["HOSTILE", "Report", "make_fleet", "make_report", "write_page"]


def make_report(text: str) -> Report:
    """A report with this text in each field that a cluster fills."""
    return t.cast(Report, _SAMPLES["report"](text, size=2))


def make_fleet(size: int = 60, others: int = 3) -> Report:
    """A fleet in which every third service is not Ready, with so many nodes, caches and pipelines."""
    good = {"state": "Ready", "reason": "", "message": ""}
    bad = ("NotReady", "Failed", "Pending", "")
    lines = [
        _SAMPLES["line"](number, "llm", **(good if number % 3 else {"state": bad[number % 4]}))
        for number in range(size)
    ]
    return t.cast(Report, _SAMPLES["report"]("llm", size=others, lines=lines))
