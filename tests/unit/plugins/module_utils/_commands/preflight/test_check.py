# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""One check, and whether all of them allow a start."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.check import (
    ERROR,
    OK,
    WARNING,
    Check,
    Reporter,
    is_runnable,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey as Key,
)


def test_check_to_dict_is_printable_and_bounded():
    found = Check(ERROR, "a\x1b[31m", "nodes", "x\n" + "y" * 900, "\x07z").to_dict()
    assert (found["resource"], found["remedy"], len(found["message"])) == ("a[31m", "z", 600)


def test_reporter_repeats_nothing():
    reporter = Reporter(Key("NIMService", "nim", "llm"), "nodes")
    reporter.ok("fits")
    reporter.ok("fits")
    reporter.warn("late", "wait")
    reporter.fail("never", "stop")
    assert [(it.level, it.remedy) for it in reporter.found] == [
        (OK, ""),
        (WARNING, "wait"),
        (ERROR, "stop"),
    ]
    assert reporter.found[0].resource == "NIMService nim/llm"


def test_is_runnable_ignores_warnings():
    reporter = Reporter("Cluster", "permission")
    reporter.warn("late", "wait")
    assert is_runnable(reporter.found)
    reporter.fail("never", "stop")
    assert not is_runnable(reporter.found)
