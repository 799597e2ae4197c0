# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Rows and the choice of cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nimops_harness.cases import Row, Rows, add_case_options, choose, make_parser, select
from nimops_harness.errors import HarnessError


def test_rows_run(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "results.json")
    rows.run("a", "settles", lambda: (True, "settled"))
    rows.run("b", "settles", lambda: (True, "settled"), limit=-1.0)
    assert json.loads(rows.path.read_text()) == [
        {"name": "a", "expected": "settles", "seen": "settled", "ok": True},
        {"name": "b", "expected": "settles", "seen": "not tried: the time was up", "ok": False},
    ]


def test_select_unknown() -> None:
    with pytest.raises(HarnessError, match="unknown: x, y; known are a, b"):
        select(["a", "b"], "x,a,y")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["a", "b", "c"]),
        (["--quick"], ["q"]),
        (["--only", "c,a"], ["a", "c"]),
        (["--quick", "--only", "b"], ["b"]),
    ],
)
def test_choose(arguments: list[str], expected: list[str]) -> None:
    parser = make_parser("faults", "", "")
    add_case_options(parser, "one")
    cases, quick = ([Row(name, "", "", True) for name in names] for names in ("abc", "q"))
    chosen = choose(cases, quick, parser.parse_args(arguments))
    assert [case.name for case in chosen] == expected
