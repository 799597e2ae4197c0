# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The table of what was expected and seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nimops_harness.table import Row, make_table, select, write_rows

GOOD = Row("etcd-paused", "all settle", "settled after 20.0 s", True)
BAD = Row(
    "tmp-full", "all settle", "lost: " + ", ".join(f"service/a-{n}" for n in range(12)), False
)


def test_table_marks_what_did_not_hold_and_cuts_nothing() -> None:
    lines = make_table([GOOD, BAD]).splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["---", "ok", "NOT"]
    assert "service/a-11" in "".join(lines)
    assert max(map(len, lines)) <= 145


def test_rows_are_a_list_of_flat_objects(tmp_path: Path) -> None:
    write_rows(tmp_path / "faults" / "results.json", [GOOD, BAD])
    found = json.loads((tmp_path / "faults" / "results.json").read_text())
    assert [set(row) for row in found] == [{"name", "expected", "seen", "ok"}] * 2
    assert [row["ok"] for row in found] == [True, False]
    assert [path.name for path in (tmp_path / "faults").iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("b", ["b"]), ("c, a", ["a", "c"]), ("", [])],
    ids=["one", "in-the-tables-order", "none"],
)
def test_select(wanted: str, expected: list[str]) -> None:
    assert select(["a", "b", "c"], wanted) == expected


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no such row: x, y; there are a, b"):
        select(["a", "b"], "x,a,y")
