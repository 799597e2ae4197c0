# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The figures of figures.yaml: their goals, their table, their file."""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml
from nimops_harness.cases import print_table

from .results import Results, Value


@dataclass(frozen=True)
class Figure:
    """A line of the table; without a goal it is only reported."""

    name: str
    text: str
    unit: str = " s"
    at_least: float | None = None
    at_most: float | None = None

    def judge(self, value: Value) -> tuple[str, str]:
        """The goal, and whether a value meets it, in a word."""
        goal, is_met = "reported", None
        if self.at_least is not None:
            goal, is_met = f"≥ {self.at_least:g}{self.unit}", (value or 0) >= self.at_least
        if self.at_most is not None:
            goal, is_met = f"≤ {self.at_most:g}{self.unit}", (value or 0) <= self.at_most
        if value is None:
            return goal, "not measured"
        return goal, {True: "met", False: "missed", None: ""}[is_met]


_TABLE = yaml.safe_load(Path(__file__).parents[1].joinpath("figures.yaml").read_text())
_STACK = [
    {**row, "name": f"gpu_{few}_{row['name']}", "text": f"a ClusterPolicy on {{gpu_{few}}} GPU nodes: {row['text']}"}
    for few in ("few", "many")
    for row in _TABLE["stack"]
]  # fmt: skip
FIGURES = tuple(Figure(**row) for row in (*_TABLE["plain"], *_TABLE["size"], *_STACK, *_TABLE["gpu"]))  # fmt: skip
SCALE_FIGURES = tuple(Figure(**row) for row in (*_TABLE["scale"], *_TABLE["size"]))


def show(figures: t.Iterable[Figure], results: Results) -> None:
    """Print each figure beside its goal."""
    sizes = asdict(results.sizes)
    rows = []
    for figure in figures:
        value, samples = results.values.get(figure.name), results.samples.get(figure.name)
        spread = f"{min(samples):.2f} … {max(samples):.2f}, n = {len(samples)}" if samples else ""
        measured = "-" if value is None else f"{value:.{1 if value >= 100 else 2}f}{figure.unit}"
        goal, met = figure.judge(value)
        rows.append((figure.text.format(**sizes), goal, measured, spread, met, figure.name))
    print_table(("figure", "goal", "measured", "least … most", "", "name"), rows)


def list_missing(figures: t.Iterable[Figure], results: Results) -> list[str]:
    """Names of the figures that were not measured; a growth follows from two others."""
    names = [figure.name for figure in figures if figure.name != "restart_growth"]
    return [name for name in names if results.values.get(name) is None]


def write(path: Path, figures: t.Iterable[Figure], results: Results) -> None:
    """Write a flat object with all figures, `null` where one was not measured."""
    whole: dict[str, Value] = dict.fromkeys(figure.name for figure in figures)
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in (whole | results.values).items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded, indent=2) + "\n")
