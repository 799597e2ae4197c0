# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The figures: their names, their goals, their table, their file."""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict, dataclass
from pathlib import Path

from nimops_harness.cases import print_table

from .results import Results, Value


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
        """Whether a value meets the goal, in a word."""
        if value is None:
            return "not measured"
        if self.at_least is not None:
            return "met" if value >= self.at_least else "missed"
        if self.at_most is not None:
            return "met" if value <= self.at_most else "missed"
        return ""


SIZE = (
    Figure("change_calm_s", "a change while nothing else is to be done", " s"),
    Figure("change_while_hanging_s", "a change while {hanging} model servers hang", " s", at_most=2),
    Figure("change_while_hanging_max_s", "the slowest of these changes", " s", at_most=2),
    Figure("foreign_memory_growth", "memory with {foreign} objects of others / without", "x", at_most=1.1),
    Figure("foreign_start_growth", "start with them / without", "x", at_most=1.1),
    Figure("foreign_drift_s", "drift with them, until put right", " s", at_most=2),
    Figure("loading_cores", "{loading} models that load: cores", "", at_most=0.05),
    Figure("ready_told_s", "Ready reported after its pod was", " s", at_most=2),
    Figure("ready_told_max_s", "the slowest of these", " s", at_most=2),
)  # fmt: skip
STACK = tuple(
    Figure(f"gpu_{few}_{name}", f"a ClusterPolicy on {{gpu_{few}}} GPU nodes: {text}", unit, at_most=most)
    for few in ("few", "many")
    for name, text, unit, most in (
        ("not_ready_s", "first notReady", " s", None),
        ("ready_s", "ready", " s", None),
        ("plain_s", "its DaemonSets alone, by a plain client", " s", None),
        ("cpu_s", "CPU until ready", " s", None),
        ("peak_mib", "memory, peak until ready", " MiB", None),
        ("idle_mib", "memory at rest", " MiB", 250),
        ("idle_cores", "cores at rest", "", 0.01),
        ("unchanged_s", "unchanged", " s", None),
        ("child_wall_ratio", "unchanged for each child / NIMService, wall", "x", 1),
        ("child_cpu_ratio", "unchanged for each child / NIMService, CPU", "x", 1),
    )
)  # fmt: skip
GPU = (
    *STACK,
    Figure("gpu_ready_growth", "growth of the time until ready, 1 is linear", "x", at_most=1),
    Figure("gpu_cpu_growth", "growth of the CPU until ready, 1 is linear", "x", at_most=1),
    Figure("gpu_waiting_cores", "a component that does not become ready: cores", "", at_most=0.05),
    Figure("nodes_idle_mib", "{nodes} GPU nodes at rest: memory", " MiB"),
    Figure("nodes_idle_cores", "cores", "", at_most=0.01),
    Figure("nodes_beating_cores", "cores with a heartbeat of each in {nodes_heartbeat:g} s", "", at_most=0.05),
    Figure("node_labelled_s", "a new node is labeled after", " s", at_most=2),
    Figure("node_labelled_max_s", "the slowest of these", " s", at_most=2),
)  # fmt: skip
FIGURES = (
    Figure("unchanged_wall_ratio", "unchanged NIMService: stock / prefork, wall", "x", at_least=12),
    Figure("unchanged_cpu_ratio", "unchanged NIMService: stock / prefork, CPU", "x", at_least=14),
    Figure("create_wall_ratio", "first reconcile: stock / prefork, wall", "x", at_least=8),
    Figure("unchanged_median_s", "unchanged NIMService, prefork", " s", at_most=0.25),
    Figure("unchanged_role_s", "unchanged NIMService, by the tasks of its role", " s"),
    Figure("unchanged_role_ratio", "the same / by one task, wall", "x"),
    Figure(
        "create_role_ratio", "first reconcile: by the tasks of its role / by one task, wall", "x"
    ),
    Figure("nemo_ratio", "unchanged: the slowest NeMo kind / NIMService, wall", "x", at_most=1.1),
    Figure("hundred_ready_s", "{few} NIMServices applied at once, all Ready", " s", at_most=22),
    Figure("hundred_plain_s", "their children alone, created by a plain client", " s"),
    Figure("restart_100_s", "restart with {few}: until the queue is empty", " s"),
    Figure("restart_500_s", "restart with {many}: until the queue is empty", " s"),
    Figure("restart_growth", "growth of that, 1 is linear", "x", at_most=1),
    Figure("change_during_restart_s", "restart with {many}: a change meanwhile", " s", at_most=2),
    Figure("change_during_restart_max_s", "the slowest of these changes", " s", at_most=2),
    Figure("rss_idle_mib", "memory, idle with {few}", " MiB", at_most=250),
    Figure("rss_peak_mib", "memory, peak of the restart with {many}", " MiB"),
    Figure("command_help_s", "kubectl nim status --help", " s", at_most=0.3),
    Figure("command_status_s", "kubectl nim status", " s", at_most=0.3),
    *SIZE,
    *GPU,
)
SCALE_FIGURES = (
    Figure("scale_first_s", "start with {many}: until the first reconcile is over", " s"),
    Figure("scale_start_s", "start with {many}: until all were reconciled", " s"),
    Figure("scale_start_growth", "growth of that from {few}, 1 is linear", "x", at_most=1),
    Figure("scale_start_cpu_s", "its CPU", " s"),
    Figure("scale_cpu_growth", "growth of that from {few}", "x", at_most=1),
    Figure("scale_start_requests_s", "its requests a second to the API server", ""),
    Figure("scale_requests_growth", "growth of all its requests from {few}", "x", at_most=1),
    Figure("scale_change_s", "start with {many}: a change meanwhile", " s", at_most=2),
    Figure("scale_change_max_s", "the slowest of these changes", " s", at_most=2),
    Figure("scale_idle_mib", "memory, idle with {many}", " MiB"),
    Figure("scale_memory_growth", "growth of that from {few}, 1 is linear", "x", at_most=1),
    Figure("scale_peak_mib", "memory, peak of the start with {many}", " MiB"),
    Figure("scale_steady_cores", "{many} at rest: cores", ""),
    Figure("scale_steady_requests_s", "requests a second to the API server", ""),
    Figure("scale_steady_mib", "memory", " MiB"),
    *SIZE,
)


def show(figures: t.Iterable[Figure], results: Results) -> None:
    """Print each figure beside its goal."""
    sizes = asdict(results.sizes)
    rows = []
    for figure in figures:
        value, samples = results.values.get(figure.name), results.samples.get(figure.name)
        spread = f"{min(samples):.2f} … {max(samples):.2f}, n = {len(samples)}" if samples else ""
        text = figure.text.format(**sizes)
        measured = format_value(value, figure.unit)
        rows.append((text, figure.goal, measured, spread, figure.judge(value), figure.name))
    print_table(("figure", "goal", "measured", "least … most", "", "name"), rows)


def format_value(value: Value, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:.{1 if value >= 100 else 2}f}{unit}"


def list_missing(figures: t.Iterable[Figure], results: Results) -> list[str]:
    """Names of the figures that were not measured; a growth follows from two others."""
    names = [figure.name for figure in figures if figure.name != "restart_growth"]
    return [name for name in names if results.values.get(name) is None]


def write(path: Path, figures: t.Iterable[Figure], results: Results) -> None:
    """Write a flat object with all figures, `null` where one was not measured."""
    whole: dict[str, Value] = dict.fromkeys((figure.name for figure in figures), None)
    rounded = {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in (whole | results.values).items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded, indent=2) + "\n")
