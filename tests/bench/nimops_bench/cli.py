# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make bench."""

from __future__ import annotations

import argparse
import os
import typing as t

from nimops_harness.cases import make_parser, recording, select
from nimops_harness.cluster import Api
from nimops_harness.progress import say
from nimops_harness.runtime import refuse_taken_ports
from nimops_harness.workload import play_models

from .figures import FIGURES, SCALE_FIGURES, list_missing, show, write
from .measure import Bench
from .results import QUICK, SCALE, Results, Sizes
from .scale import Scale
from .stack import Stack

NAMESPACE = "nimops-bench"
PARTS = ("compare", "gpu", "nodes", "many", "load", "hanging", "foreign")
PLAIN_PARTS = tuple(part for part in PARTS if part != "load")
SCALE_PARTS = ("load", "hanging", "foreign")


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


def measure_all(bench: Bench, scale: Scale, parts: t.Collection[str]) -> bool:
    """Measure these parts; a part that fails does not stop the next. Whether none failed."""
    stack, failed = Stack(bench), list[str]()
    for part, what, *steps in (
        ("compare", "stock beside prefork", bench.compare),
        ("compare", "NeMo kinds beside NIMService", bench.compare_kinds),
        # Before the hundreds of NIMServices, because its operator serves all namespaces and would also hold these.
        ("gpu", "a ClusterPolicy on few nodes and on many", stack.measure),
        ("nodes", "GPU nodes at rest", stack.measure_nodes),
        ("many", "many NIMServices", bench.apply_few, scale.restart_few, scale.restart_many),
        ("load", "thousands of NIMServices", scale.measure_load),
        ("hanging", "model servers that hang", scale.measure_hanging),
        ("foreign", "foreign objects", scale.measure_foreign),
    ):
        if part in parts:
            say(what)
            errors = list[str]()
            with recording(errors.append):
                for step in steps:
                    step()
            failed += [f"{what}: {error}" for error in errors]
    for why in failed:
        say(f"NOT MEASURED: {why}")
    return not failed


def run(options: argparse.Namespace) -> int:
    sizes, suffix, parts, figures = Sizes(), "", PLAIN_PARTS, FIGURES
    if options.quick:
        sizes, suffix = QUICK, "-quick"
    if options.scale:
        sizes, suffix, parts, figures = SCALE, "-scale", SCALE_PARTS, SCALE_FIGURES
    if options.only:
        parts = tuple(select(PARTS, options.only))
    path = options.output.resolve() / f"results{suffix}.json"
    logs = path.with_name("logs")
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
        write(path, figures, results)
        show(figures, results)
        say(f"written: {path}")
    finally:
        if options.keep:
            say(f"kept: namespace {NAMESPACE}")
        else:
            scale.remove()
            bench.work.remove()
    is_complete = bool(options.only) or not list_missing(figures, results)
    return 0 if is_measured and is_complete else 1
