# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The table and the file."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from nimops_bench.figures import (
    FIGURES,
    SCALE_FIGURES,
    Figure,
    list_missing,
    make_table,
    write_results,
)
from nimops_bench.results import Sizes
from nimops_bench.stats import Summary

SIZES = asdict(Sizes(few=4, many=10, foreign=5, hanging=2, loading=3))
REQUIRED = {
    "unchanged_wall_ratio",
    "unchanged_cpu_ratio",
    "create_wall_ratio",
    "unchanged_median_s",
    "unchanged_role_s",
    "unchanged_role_ratio",
    "create_role_ratio",
    "nemo_ratio",
    "hundred_ready_s",
    "hundred_plain_s",
    "restart_100_s",
    "restart_500_s",
    "change_during_restart_s",
    "rss_idle_mib",
    "rss_peak_mib",
    "change_during_restart_max_s",
    "change_calm_s",
    "change_while_hanging_s",
    "change_while_hanging_max_s",
    "foreign_memory_growth",
    "foreign_start_growth",
    "foreign_drift_s",
    "loading_cores",
    "ready_told_s",
    "ready_told_max_s",
    *(
        f"gpu_{size}_{name}"
        for size in ("few", "many")
        for name in (
            *("not_ready_s", "ready_s", "plain_s", "cpu_s", "peak_mib", "idle_mib", "idle_cores"),
            *("unchanged_s", "child_wall_ratio", "child_cpu_ratio"),
        )
    ),
    "gpu_ready_growth",
    "gpu_cpu_growth",
    "gpu_waiting_cores",
    "nodes_idle_mib",
    "nodes_idle_cores",
    "nodes_beating_cores",
    "node_labelled_s",
    "node_labelled_max_s",
}


@pytest.mark.parametrize(
    ("figure", "value", "expected"),
    [
        (Figure("a", "", "x", at_least=8), 8.0, "met"),
        (Figure("a", "", "x", at_least=8), 7.9, "missed"),
        (Figure("a", "", " s", at_most=0.25), 0.25, "met"),
        (Figure("a", "", " s", at_most=0.25), 0.26, "missed"),
        (Figure("a", "", " s"), 3.0, ""),
        (Figure("a", "", " s"), None, "not measured"),
    ],
)
def test_judge(figure: Figure, value: float | None, expected: str) -> None:
    assert figure.judge(value) == expected


def test_table_has_goal_beside_figure() -> None:
    spreads = {"unchanged_median_s": Summary(0.2, 0.1, 0.31, 30)}
    lines = make_table(
        FIGURES, {"unchanged_median_s": 0.2, "hundred_ready_s": 120.4}, spreads, SIZES
    )
    cells = {row.split()[-1]: row for row in lines.splitlines()[2:]}
    assert set(cells) == {figure.name for figure in FIGURES}
    assert "≤ 0.25 s" in cells["unchanged_median_s"]
    assert "0.20 s" in cells["unchanged_median_s"]
    assert "0.10 … 0.31, n = 30" in cells["unchanged_median_s"]
    assert "4 NIMServices" in cells["hundred_ready_s"]
    assert "120.4 s" in cells["hundred_ready_s"]
    assert "missed" in cells["hundred_ready_s"]
    assert "not measured" in cells["rss_idle_mib"]
    assert "a ClusterPolicy on 200 GPU nodes: ready" in cells["gpu_many_ready_s"]


def test_results_are_flat_and_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    write_results(path, FIGURES, {"unchanged_median_s": 0.123456, "cores": 2})
    written = json.loads(path.read_text())
    assert written.keys() >= REQUIRED
    assert written["unchanged_median_s"] == 0.1235
    assert written["cores"] == 2
    assert written["rss_idle_mib"] is None


def test_missing_figures_are_named() -> None:
    whole: dict[str, float | None] = dict.fromkeys(REQUIRED, 1.0)
    assert list_missing(FIGURES, {**whole}) == []
    assert list_missing(FIGURES, {**whole, "rss_peak_mib": None}) == ["rss_peak_mib"]
    assert set(list_missing(FIGURES, {})) == REQUIRED


def test_figures_of_scale_have_names_and_sizes_of_their_own() -> None:
    lines = make_table(SCALE_FIGURES, {"scale_start_s": 300.5}, {}, SIZES).splitlines()
    assert [line.split()[-1] for line in lines[2:]] == [figure.name for figure in SCALE_FIGURES]
    assert "start with 10: until all were looked at" in lines[3]
    assert "foreign_memory_growth" in list_missing(SCALE_FIGURES, {})
    assert "unchanged_wall_ratio" not in list_missing(SCALE_FIGURES, {})
