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
from pathlib import Path

from nimops_live.cluster import Api
from nimops_live.errors import LiveError
from nimops_live.progress import say
from nimops_live.runtime import ROOT, refuse_taken_ports
from nimops_live.workload import play_models

from .figures import list_missing, make_table, write_json, write_results
from .measure import Bench
from .results import QUICK, Seen, Sizes, make_results, make_samples, make_spreads

CHART = ROOT / "tests" / "bench" / "chart.py"
OUTPUT = ROOT / "build" / "bench"
EPILOG = """Exit codes: 0 all was measured, whatever the figures are; 1 something could not be measured;
2 the bench cannot begin; 130 interrupted."""


def parse_arguments(argv: t.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests/bench", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="What the operator costs, with prefork and without, on the cluster of $KUBECONFIG.",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true",
        help="small numbers, to see that it works; writes results-quick.json",
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


def run_part(what: str, part: t.Callable[[], None]) -> bool:
    """Whether a part of the bench could be measured; if not, it is said why."""
    try:
        part()
    except LiveError as error:
        say(f"NOT MEASURED: {what}: {error}")
        return False
    except OSError as error:
        say(f"NOT MEASURED: {what}: {error}; see the operator's log")
        return False
    return True


def measure(bench: Bench, seen: Seen) -> None:
    """Fill `seen` as far as it can be."""

    def few() -> None:
        seen.few = bench.apply_few()

    def restart_few() -> None:
        seen.restart_few = bench.restart(bench.sizes.few)

    def restart_many() -> None:
        bench.apply_rest()
        seen.restart_many = bench.restart(bench.sizes.many)

    run_part("stock beside prefork", bench.compare)
    run_part("NeMo kinds beside NIMService", bench.compare_kinds)
    if run_part("many NIMServices at once", few):
        run_part("a restart with a few", restart_few)
        run_part("a restart with many", restart_many)


def report(seen: Seen, folder: Path, suffix: str) -> list[str]:
    """Write the files, print the table; the names of what is missing."""
    results = make_results(seen)
    write_json(folder / f"samples{suffix}.json", make_samples(seen))
    write_results(folder / f"results{suffix}.json", results)
    sizes = {"few": seen.sizes.few, "many": seen.sizes.many}
    print(make_table(results, make_spreads(seen), sizes), flush=True)
    if results["prefork_was_on"] is False:
        say("WARNING: prefork ran stock, or stock ran prefork: the figures mean nothing")
    say(f"written: {folder}/results{suffix}.json, samples{suffix}.json")
    return list_missing(results)


def draw_chart(python: Path, folder: Path, suffix: str) -> None:
    """The chart of the samples; LiveError if it could not be drawn."""
    chart = folder / f"chart{suffix}.svg"
    done = subprocess.run(
        [python, CHART, folder / f"samples{suffix}.json", chart],
        env=os.environ | {"MPLCONFIGDIR": str(folder / "matplotlib")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise LiveError(f"{chart}: {done.stderr.strip()}")
    say(f"written: {chart}")


def run(arguments: argparse.Namespace) -> int:
    sizes = QUICK if arguments.quick else Sizes()
    seen = Seen(sizes, os.cpu_count() or 1)
    folder, suffix = arguments.output.resolve(), "-quick" if arguments.quick else ""
    logs = folder / "logs"
    for old in logs.glob("*.log"):
        old.unlink()
    refuse_taken_ports()
    bench = Bench(Api(), arguments.namespace, seen, logs)
    bench.work.create_namespace()
    try:
        with play_models(logs / "models.log"):
            measure(bench, seen)
        missing = report(seen, folder, suffix)
        if python := arguments.chart_with:
            missing += (
                [] if run_part("chart", lambda: draw_chart(python, folder, suffix)) else ["chart"]
            )
    finally:
        if arguments.keep:
            say(f"kept: namespace {arguments.namespace}")
        else:
            say(f"removing the namespace {arguments.namespace}")
            bench.work.remove()
    return 1 if missing else 0


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: t.Sequence[str] | None = None) -> int:
    """Exit code: see --help."""
    arguments = parse_arguments(argv)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return run(arguments)
    except LiveError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
