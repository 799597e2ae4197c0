# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make bench."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import typing as t
from dataclasses import asdict
from pathlib import Path

from nimops_harness.cluster import Api
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.runtime import ROOT, refuse_taken_ports
from nimops_harness.table import select
from nimops_harness.workload import play_models

from .figures import (
    FIGURES,
    SCALE_FIGURES,
    Figure,
    list_missing,
    make_table,
    write_json,
    write_results,
)
from .measure import Bench
from .results import QUICK, SCALE, Seen, Sizes, make_results, make_samples, make_spreads
from .scale import Scale
from .stack import Stack

CHART = ROOT / "tests" / "bench" / "chart.py"
OUTPUT = ROOT / "build" / "bench"
PARTS = ("compare", "many", "load", "hanging", "loading", "foreign", "gpu", "nodes")
PLAIN_PARTS = tuple(part for part in PARTS if part != "load")
SCALE_PARTS = ("load", "hanging", "loading", "foreign")
EPILOG = """Exit codes: 0 all was measured, whatever the figures are; 1 something could not be measured;
2 the bench cannot begin; 130 interrupted."""


def parse_arguments(argv: t.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests/bench", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="What the operator costs, with prefork and without, on the cluster of $KUBECONFIG.",
    )  # fmt: skip
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick", action="store_true",
        help="small numbers, to see that it works; writes results-quick.json",
    )  # fmt: skip
    sizes.add_argument(
        "--scale", action="store_true",
        help="2,000 NIMServices, 50,000 objects of others, no stock; writes results-scale.json",
    )  # fmt: skip
    parser.add_argument(
        "--only", default="", metavar="PARTS",
        help=f"only these parts, separated by commas: {', '.join(PARTS)}",
    )  # fmt: skip
    parser.add_argument(
        "--keep", action="store_true", help="leave the namespace as it is in the end"
    )
    parser.add_argument("--namespace", default="nimops-bench", help="made and deleted by the bench")
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="folder of results, chart, logs"
    )
    parser.add_argument(
        "--chart-with", type=Path, metavar="PYTHON",
        help="draw the chart with this Python, which has matplotlib",
    )  # fmt: skip
    return parser.parse_args(argv)


def choose_parts(arguments: argparse.Namespace) -> list[str]:
    """Names of the parts to measure; HarnessError names what there is not."""
    parts = SCALE_PARTS if arguments.scale else PLAIN_PARTS
    if arguments.only:
        try:
            return select(PARTS, arguments.only)
        except ValueError as error:
            raise HarnessError(str(error)) from None
    return list(parts)


def run_part(what: str, part: t.Callable[[], None]) -> bool:
    """Whether a part of the bench could be measured; if not, it is said why."""
    try:
        part()
    except HarnessError as error:
        say(f"NOT MEASURED: {what}: {error}")
        return False
    except OSError as error:
        say(f"NOT MEASURED: {what}: {error}; see the operator's log")
        return False
    return True


def measure(bench: Bench, scale: Scale, seen: Seen, parts: t.Collection[str]) -> None:
    """Fill `seen` as far as it can be."""
    if "compare" in parts:
        run_part("stock beside prefork", bench.compare)
        run_part("NeMo kinds beside NIMService", bench.compare_kinds)
    if "many" in parts:
        measure_many(bench, seen)
    measure_size(scale, seen, parts)
    measure_stack(Stack(bench), seen, parts)


def measure_many(bench: Bench, seen: Seen) -> None:
    def few() -> None:
        seen.few = bench.apply_few()

    def restart_few() -> None:
        seen.restart_few = bench.restart(bench.sizes.few)

    def restart_many() -> None:
        bench.apply_rest()
        seen.restart_many = bench.restart(bench.sizes.many)

    if run_part("many NIMServices at once", few):
        run_part("a restart with a few", restart_few)
        run_part("a restart with many", restart_many)


def measure_size(scale: Scale, seen: Seen, parts: t.Collection[str]) -> None:
    def load() -> None:
        seen.load_few = scale.measure_load(seen.sizes.few, steady=False)
        seen.load_many = scale.measure_load(seen.sizes.many, steady=True)

    def hanging() -> None:
        seen.hanging = scale.measure_hanging()

    def loading() -> None:
        seen.loading = scale.measure_loading()

    def foreign() -> None:
        seen.alone = scale.measure_alone()
        seen.beside = scale.measure_beside()

    for part, what, do in (
        ("load", "thousands of NIMServices", load),
        ("hanging", "model servers that hang", hanging),
        ("loading", "models that load", loading),
        ("foreign", "objects of others", foreign),
    ):
        if part in parts:
            run_part(what, do)


def measure_stack(stack: Stack, seen: Seen, parts: t.Collection[str]) -> None:
    def gpu() -> None:
        with stack.prepared():
            seen.gpu_few = stack.measure(seen.sizes.gpu_few, waits=True)
            seen.gpu_many = stack.measure(seen.sizes.gpu_many, waits=False)

    def nodes() -> None:
        with stack.prepared():
            seen.crowd = stack.measure_crowd()

    for part, what, do in (
        ("gpu", "a ClusterPolicy on few nodes and on many", gpu),
        ("nodes", "GPU nodes at rest", nodes),
    ):
        if part in parts:
            run_part(what, do)


def report(seen: Seen, figures: t.Sequence[Figure], folder: Path, suffix: str) -> list[str]:
    """Write the files, print the table; the names of what is missing."""
    results = make_results(seen)
    write_json(folder / f"samples{suffix}.json", make_samples(seen))
    write_results(folder / f"results{suffix}.json", figures, results)
    sizes = asdict(seen.sizes)
    print(make_table(figures, results, make_spreads(seen), sizes), flush=True)
    if results["prefork_was_on"] is False:
        say("WARNING: prefork ran stock, or stock ran prefork: the figures mean nothing")
    say(f"written: {folder}/results{suffix}.json, samples{suffix}.json")
    return list_missing(figures, results)


def draw_chart(python: Path, folder: Path, suffix: str) -> None:
    """The chart of the samples; HarnessError if it could not be drawn."""
    chart = folder / f"chart{suffix}.svg"
    done = subprocess.run(
        [python, CHART, folder / f"samples{suffix}.json", chart],
        env=os.environ | {"MPLCONFIGDIR": str(folder / "matplotlib")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise HarnessError(f"{chart}: {done.stderr.strip()}")
    say(f"written: {chart}")


def run(arguments: argparse.Namespace) -> int:
    sizes = SCALE if arguments.scale else QUICK if arguments.quick else Sizes()
    figures = SCALE_FIGURES if arguments.scale else FIGURES
    parts = choose_parts(arguments)
    seen = Seen(sizes, os.cpu_count() or 1)
    folder = arguments.output.resolve()
    suffix = "-scale" if arguments.scale else "-quick" if arguments.quick else ""
    logs = folder / "logs"
    for old in logs.glob("*.log"):
        old.unlink()
    refuse_taken_ports()
    bench = Bench(Api(), arguments.namespace, seen, logs)
    scale = Scale(bench)
    if not (arguments.scale and scale.is_prepared):
        scale.remove()
        bench.work.create_namespace()
    try:
        with play_models(logs / "models.log"):
            measure(bench, scale, seen, parts)
        missing = report(seen, figures, folder, suffix)
        if (python := arguments.chart_with) and not arguments.scale:
            missing += (
                [] if run_part("chart", lambda: draw_chart(python, folder, suffix)) else ["chart"]
            )
    finally:
        if arguments.keep:
            say(f"kept: namespace {arguments.namespace}")
        else:
            say(f"removing the namespace {arguments.namespace}")
            scale.remove()
            bench.work.remove()
    return 1 if missing and not arguments.only else 0


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: t.Sequence[str] | None = None) -> int:
    """Exit code: see --help."""
    arguments = parse_arguments(argv)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return run(arguments)
    except HarnessError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
