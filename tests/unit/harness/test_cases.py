# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Rows and the choice of cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nimops_harness.cases import Row, Rows, add_case_options, choose, make_parser, select
from nimops_harness.errors import HarnessError


def test_rows_add(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "faults" / "results.json")
    for row in (Row("a", "settles", "settled", True), Row("b", "settles", "lost", False)):
        rows.add(row)
    found = json.loads(rows.path.read_text())
    assert [set(row) for row in found] == [{"name", "expected", "seen", "ok"}] * 2
    assert [row["ok"] for row in found] == [True, False]


def test_rows_run(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "results.json")
    rows.run("a", "settles", lambda: (True, "settled"))
    rows.run("b", "settles", lambda: (True, "settled"), limit=-1.0)
    assert [(row.name, row.seen, row.ok) for row in rows] == [
        ("a", "settled", True),
        ("b", "not tried: the time was up", False),
    ]


def test_select_in_order() -> None:
    assert select(["a", "b", "c"], "c, a") == ["a", "c"]


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
