# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The figures: their names, their goals, the table, the file."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

from .stats import Summary

Value = float | int | bool | None
Results = dict[str, Value]


@dataclass(frozen=True)
class Figure:
    """A line of the table; without a goal it is only reported."""

    name: str
    text: str
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def goal(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}{self.unit}"
        if self.at_most is not None:
            return f"≤ {self.at_most:g}{self.unit}"
        return "reported"

    def judge(self, value: Value) -> str:
        """What is said of a value beside its goal."""
        if value is None:
            return "not measured"
        if self.at_least is not None:
            return "met" if value >= self.at_least else "missed"
        if self.at_most is not None:
            return "met" if value <= self.at_most else "missed"
        return ""


FIGURES = (
    Figure("unchanged_wall_ratio", "unchanged NIMService: stock / prefork, wall", "x", at_least=8),
    Figure("unchanged_cpu_ratio", "unchanged NIMService: stock / prefork, CPU", "x", at_least=8),
    Figure("create_wall_ratio", "first reconcile: stock / prefork, wall", "x", at_least=5),
    Figure("unchanged_median_s", "unchanged NIMService, prefork", " s", at_most=0.25),
    Figure("nemo_ratio", "unchanged: the slowest NeMo kind / NIMService, wall", "x", at_most=1.1),
    Figure("hundred_ready_s", "{few} NIMServices applied at once, all Ready", " s", at_most=40),
    Figure("restart_100_s", "restart with {few}: until the queue is empty", " s"),
    Figure("restart_500_s", "restart with {many}: until the queue is empty", " s"),
    Figure("restart_growth", "growth of that, 1 is linear", "x", at_most=1),
    Figure("change_during_restart_s", "restart with {many}: a change meanwhile", " s"),
    Figure("rss_idle_mib", "memory, idle with {few}", " MiB", at_most=250),
    Figure("rss_peak_mib", "memory, peak of the restart with {many}", " MiB"),
)
MUST = tuple(figure.name for figure in FIGURES if figure.name != "restart_growth")


def format_value(value: Value, unit: str) -> str:
    if value is None:
        return "-"
    digits = 1 if unit == "x" or value >= 100 else 2
    return f"{value:.{digits}f}{unit}"


def make_table(
    results: Results, spreads: t.Mapping[str, Summary], sizes: t.Mapping[str, int]
) -> str:
    """Goal beside figure; `sizes` fills `few` and `many` in, `spreads` are by a figure's name."""
    rows = [("figure", "goal", "measured", "least … most", "", "name")]
    for figure in FIGURES:
        value = results.get(figure.name)
        summary = spreads.get(figure.name)
        rows.append((
            figure.text.format(**sizes),
            figure.goal,
            format_value(value, figure.unit),
            f"{summary.least:.2f} … {summary.most:.2f}, n = {summary.count}" if summary else "",
            figure.judge(value),
            figure.name,
        ))  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [["-" * width for width in widths], *rows[1:]]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (rows[0], *lines)
    )


def list_missing(results: Results) -> list[str]:
    """Names of figures that must be there and are not."""
    return [name for name in MUST if results.get(name) is None]


def write_results(path: Path, results: Results) -> None:
    """A flat object; all figures are in it, `null` where one could not be measured."""
    whole: Results = dict.fromkeys((figure.name for figure in FIGURES), None) | results
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in whole.items()
    }
    write_json(path, rounded)


def write_json(path: Path, value: t.Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")
