# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The table of checks."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.check import Check
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.preflight_text import (
    summarize,
    write_checks,
)

CHECKS = [
    Check("error", "NIMService nim/llm", "nodes", "0 of 1 nodes fit", "add a node").to_dict(),
    Check("ok", "Namespace nim", "quota", "there is room").to_dict(),
]


def test_write_checks():
    assert write_checks(CHECKS).splitlines() == [
        "LEVEL   RESOURCE             CHECK   MESSAGE",
        "error   NIMService nim/llm   nodes   0 of 1 nodes fit",
        "    → add a node",
        "ok      Namespace nim        quota   there is room",
        "cannot run here: 1 error, 1 ok",
    ]


def test_summarize():
    assert summarize([*CHECKS, *CHECKS]) == "cannot run here: 2 errors, 2 ok"
    warning = Check("warning", "a", "b", "c", "d").to_dict()
    assert summarize([warning, *CHECKS[1:]]) == "can run here: 1 warning, 1 ok"
