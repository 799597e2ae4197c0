# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make bench."""

from __future__ import annotations

import argparse
import os
import typing as t
from functools import partial

from nimops_harness.cases import make_parser, select
from nimops_harness.cluster import Api
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.runtime import refuse_taken_ports
from nimops_harness.workload import play_models

from .commands import measure_commands
from .figures import FIGURES, SCALE_FIGURES, list_missing, show, write
from .measure import Bench
from .results import QUICK, SCALE, Results, Sizes
from .scale import Scale
from .stack import Stack

NAMESPACE = "nimops-bench"
PARTS = ("commands", "compare", "many", "load", "hanging", "loading", "foreign", "gpu", "nodes")
PLAIN_PARTS = tuple(part for part in PARTS if part != "load")
SCALE_PARTS = ("load", "hanging", "loading", "foreign")


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "bench",
        "Measures the costs of the operator, with prefork and without, on the cluster of $KUBECONFIG.",
        "0 all was measured, whatever the figures are; 1 something could not be measured",
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="a trial with small numbers; writes results-quick.json")  # fmt: skip
    sizes.add_argument("--scale", action="store_true", help="2,000 NIMServices, 50,000 foreign objects, no stock; writes results-scale.json")  # fmt: skip
    parser.add_argument("--only", default="", metavar="PARTS", help=f"only these parts, separated by commas: {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep the namespaces")
    return parser.parse_args(argv)


def measure(what: str, *steps: t.Callable[[], None]) -> bool:
    """Measure these steps until one fails; whether none failed."""
    try:
        for step in steps:
            step()
    except HarnessError as error:
        say(f"NOT MEASURED: {what}: {error}")
    except OSError as error:
        say(f"NOT MEASURED: {what}: {error}; see the operator's log")
    else:
        return True
    return False


def measure_all(bench: Bench, scale: Scale, parts: t.Collection[str]) -> bool:
    """Measure these parts; a part that fails does not stop the next. Whether none failed."""
    stack = Stack(bench)
    measured = []

    def on_gpus(part: t.Callable[[], None]) -> t.Callable[[], None]:
        def run() -> None:
            with stack.prepared():
                part()

        return run

    if "commands" in parts:
        measured += [measure("commands of kubectl nim", partial(measure_commands, bench.results))]
    if "compare" in parts:
        measured += [measure("stock beside prefork", bench.compare)]
        measured += [measure("NeMo kinds beside NIMService", bench.compare_kinds)]
    for name, what, *steps in (
        ("many", "many NIMServices", bench.apply_few, bench.restart_few, bench.restart_many),
        ("load", "thousands of NIMServices", scale.measure_load),
        ("hanging", "model servers that hang", scale.measure_hanging),
        ("loading", "models that load", scale.measure_loading),
        ("foreign", "foreign objects", scale.measure_foreign),
        ("gpu", "a ClusterPolicy on few nodes and on many", on_gpus(stack.measure)),
        ("nodes", "GPU nodes at rest", on_gpus(stack.measure_crowd)),
    ):
        if name in parts:
            measured += [measure(what, *steps)]
    return all(measured)


def run(options: argparse.Namespace) -> int:
    sizes = SCALE if options.scale else QUICK if options.quick else Sizes()
    figures = SCALE_FIGURES if options.scale else FIGURES
    parts = SCALE_PARTS if options.scale else PLAIN_PARTS
    if options.only:
        parts = tuple(select(PARTS, options.only))
    folder = options.output.resolve()
    suffix = "-scale" if options.scale else "-quick" if options.quick else ""
    logs = folder / "logs"
    for old in logs.glob("*.log"):
        old.unlink()
    refuse_taken_ports()
    results = Results(sizes, os.cpu_count() or 1)
    bench = Bench(Api(), NAMESPACE, results, logs)
    scale = Scale(bench)
    if not (options.scale and scale.is_prepared):
        scale.remove()
        bench.work.create_namespace()
    try:
        with play_models(logs / "models.log"):
            is_measured = measure_all(bench, scale, parts)
        results.finish()
        path = folder / f"results{suffix}.json"
        write(path, figures, results)
        show(figures, results)
        if results.values["prefork_was_on"] is False:
            say("WARNING: prefork ran stock, or stock ran prefork: the figures mean nothing")
        say(f"written: {path}")
    finally:
        if options.keep:
            say(f"kept: namespace {NAMESPACE}")
        else:
            say(f"removing the namespace {NAMESPACE}")
            scale.remove()
            bench.work.remove()
    is_complete = bool(options.only) or not list_missing(figures, results)
    return 0 if is_measured and is_complete else 1
