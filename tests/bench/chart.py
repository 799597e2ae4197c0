# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Draws what a bench saw: chart.py SAMPLES.json CHART.svg.

A program of its own, as it needs matplotlib and the rest does not.
"""

from __future__ import annotations

import importlib
import json
import sys
import typing as t
from pathlib import Path

COLOURS = {"stock": "#b04a3a", "prefork": "#2f6f9f"}
DISTRIBUTIONS = (
    ("unchanged_wall", "unchanged NIMService, wall"),
    ("unchanged_cpu", "unchanged NIMService, CPU"),
    ("create_wall", "first reconcile, wall"),
)
TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)

Json = dict[str, t.Any]


def draw_distribution(axes: t.Any, title: str, sides: dict[str, list[float]]) -> None:
    """A box for each side with its samples over it."""
    axes.set_title(title)
    axes.set_ylabel("seconds, logarithmic")
    axes.set_yscale("log")
    axes.set_ylim(TICKS[0], TICKS[-1])
    axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.minorticks_off()
    for position, (side, samples) in enumerate(sides.items()):
        if samples:
            colour = COLOURS[side]
            axes.boxplot(samples, positions=[position], widths=0.5, showfliers=False)
            axes.scatter([position] * len(samples), samples, s=12, alpha=0.6, color=colour)
            middle = sorted(samples)[len(samples) // 2]
            axes.annotate(f"{middle:.2f} s", (position + 0.3, middle), color=colour)
    axes.set_xticks(range(len(sides)), list(sides))
    axes.set_xlim(-0.6, len(sides) - 0.2)


def draw_ready(axes: t.Any, ready: list[float]) -> None:
    """How many were Ready after which time."""
    axes.set_title(f"{len(ready)} NIMServices applied at once")
    axes.set_xlabel("seconds")
    axes.set_ylabel("Ready")
    axes.step([0, *ready], range(len(ready) + 1), where="post", color=COLOURS["prefork"])


def draw_restarts(axes: t.Any, restarts: dict[str, list[tuple[float, int]]]) -> None:
    """How many reconciles were done after which time."""
    axes.set_title("restart of the operator")
    axes.set_xlabel("seconds")
    axes.set_ylabel("reconciles")
    for count, progress in restarts.items():
        axes.plot(*zip(*progress, strict=True), label=f"{count} NIMServices")
    if restarts:
        axes.legend()


def draw(samples: Json, target: Path) -> None:
    """All of it on one page; the suffix of the target is the format."""
    pyplot: t.Any = importlib.import_module("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    figure = pyplot.figure(figsize=(12, 8), layout="constrained")
    grid = figure.add_gridspec(2, 6)
    for column, (name, title) in enumerate(DISTRIBUTIONS):
        axes = figure.add_subplot(grid[0, 2 * column : 2 * column + 2])
        draw_distribution(axes, title, samples[name])
    draw_ready(figure.add_subplot(grid[1, :3]), samples["ready"])
    draw_restarts(figure.add_subplot(grid[1, 3:]), samples["restarts"])
    figure.savefig(target)


def main() -> int:
    source, target = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text()), target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
