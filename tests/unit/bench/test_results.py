# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Figures from samples, their goals and their file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nimops_bench.figures import FIGURES, SCALE_FIGURES, Figure, list_missing, show, write
from nimops_bench.results import Results, Sizes

ROUNDS = {
    "stock": ([[3.0, 4.0], [5.0]], [[2.0, 4.0], [9.0]], [[6.0]]),
    "prefork": ([[0.5, 0.5], [1.0]], [[0.2, 0.4], [0.9]], [[2.0]]),
}


@pytest.fixture
def results() -> Results:
    found = Results(Sizes(), cores=2)
    for side, rounds in ROUNDS.items():
        for measure, values in zip(("unchanged_wall", "unchanged_cpu", "create_wall"), rounds):  # noqa: B905
            found.rounds[side, measure] = values  # type: ignore[index]
    found.kinds |= {"NIMService": [2.0], "NemoDatastore": [2.2], "NemoCustomizer": [3.0, 2.0]}
    found.finish()
    return found


def test_finish(results: Results) -> None:
    assert results.values == {
        "unchanged_wall_ratio": 8.0,
        "unchanged_cpu_ratio": pytest.approx(10.0),
        "create_wall_ratio": 3.0,
        "unchanged_median_s": 0.5,
        "unchanged_stock_median_s": 4.0,
        "unchanged_cpu_s": pytest.approx(0.6),
        "unchanged_stock_cpu_s": 6.0,
        "create_median_s": 2.0,
        "create_stock_median_s": 6.0,
        "nemodatastore_ratio": 1.1,
        "nemocustomizer_ratio": 1.25,
        "nemo_ratio": 1.25,
        "cores": 2,
        "nimservices_few": 100,
        "nimservices_many": 500,
        "foreign_objects": 5000,
    }
    assert results.samples["unchanged_wall_ratio"] == [7.0, 5.0]


@pytest.mark.parametrize(
    ("figure", "value", "expected"),
    [
        (Figure("a", "", "x", at_least=8), 8.0, ("≥ 8x", "met")),
        (Figure("a", "", "x", at_least=8), 7.9, ("≥ 8x", "missed")),
        (Figure("a", "", at_most=0.25), 0.25, ("≤ 0.25 s", "met")),
        (Figure("a", "", at_most=0.25), 0.26, ("≤ 0.25 s", "missed")),
        (Figure("a", "", at_most=0.25), None, ("≤ 0.25 s", "not measured")),
        (Figure("a", ""), 1.0, ("reported", "")),
    ],
)
def test_judge(figure: Figure, value: float | None, expected: tuple[str, str]) -> None:
    assert figure.judge(value) == expected


def test_show(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    for figures in (FIGURES, SCALE_FIGURES):
        show(figures, results)
        printed = capsys.readouterr().out
        assert [figure.name for figure in figures if figure.name not in printed] == []


def test_write(results: Results, tmp_path: Path) -> None:
    write(tmp_path / "new" / "results.json", FIGURES, results)
    written = json.loads((tmp_path / "new" / "results.json").read_text())
    assert written.keys() >= {figure.name for figure in FIGURES}
    assert written["rss_idle_mib"] is None
    assert "rss_idle_mib" in list_missing(FIGURES, results)
    assert "create_wall_ratio" not in list_missing(FIGURES, results)
