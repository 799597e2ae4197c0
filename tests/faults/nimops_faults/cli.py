# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make faults."""

from __future__ import annotations

import argparse
import typing as t
from functools import partial

from nimops_harness.cases import (
    Rows,
    add_case_options,
    choose,
    make_parser,
    run_cases,
)
from nimops_harness.sandbox import Sandbox

from .faults import FAULTS, QUICK_FAULT, Fault
from .harness import QUICK, Harness, Sizes


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "faults",
        "Injects faults, each with 60 resources in progress, on a sandbox of its own.",
        "0 the operator recovered from all faults; 1 not from all of them",
    )
    add_case_options(parser, "two faults, or those of --only, on eight resources")
    return parser.parse_args(argv)


def play(sandbox: Sandbox, sizes: Sizes, fault: Fault) -> tuple[bool, str]:
    """One fault from an empty namespace to an empty namespace; whether it is ok, and what was seen."""
    harness = Harness(sandbox, fault.name, sizes, fault.environment)
    with harness.recording():
        inject(harness, fault)
    with harness.recording():
        harness.close()
    seen = [f"NOT OK: {problem}" for problem in harness.problems] + harness.notes
    return not harness.problems, "; ".join(seen)


def inject(harness: Harness, fault: Fault) -> None:
    if fault.is_forwarded:
        harness.forward()
    harness.start_replica().operator.wait_until_ready()
    fault.play(harness)
    if harness.settle() is not None:
        harness.judge()
    for replica in harness.replicas:
        if replica.deaths:
            harness.note(
                f"{replica.name} ended {len(replica.deaths)} times, last: {replica.deaths[-1]}"
            )
    harness.delete()
    harness.wait_until_deleted()


def run(options: argparse.Namespace) -> int:
    faults = choose(FAULTS, [QUICK_FAULT], options)
    sizes = QUICK if options.quick else Sizes()

    def run_all(sandbox: Sandbox, rows: Rows) -> None:
        for fault in faults:
            rows.run(fault.name, fault.expected, partial(play, sandbox, sizes, fault))

    return run_cases(options, faults, run_all)
