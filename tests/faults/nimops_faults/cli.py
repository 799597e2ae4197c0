# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make faults."""

from __future__ import annotations

import argparse
import contextlib
import time
import typing as t

from nimops_harness.cases import (
    Row,
    Rows,
    add_case_options,
    choose,
    make_parser,
    run_cases,
    run_program,
)
from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.sandbox import Sandbox

from .faults import FAULTS, QUICK_FAULT, Fault
from .harness import QUICK, Harness, Sizes

LIMIT_SECONDS = 33 * 60


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "faults",
        "Injects faults, each with 60 resources in progress, on a sandbox of its own.",
        "0 the operator recovered from all faults; 1 not from all of them",
    )
    add_case_options(parser, "two faults, or those of --only, on eight resources")
    return parser.parse_args(argv)


@contextlib.contextmanager
def recording(harness: Harness) -> t.Iterator[None]:
    """Record an error as a problem of the fault, and continue."""
    try:
        yield
    except HarnessError as error:
        harness.object(f"not completed: {error}")


def run_one(sandbox: Sandbox, fault: Fault, sizes: Sizes) -> Row:
    """One fault from an empty namespace to an empty namespace."""
    say(f"{fault.name}: {fault.expected.partition(';')[0]}")
    harness = Harness(sandbox, fault.name, sizes, fault.environment)
    with recording(harness), fault.surround(harness):
        with recording(harness):
            inject(harness, fault)
        harness.close()
    seen = [f"NOT OK: {problem}" for problem in harness.problems] + harness.notes
    return Row(fault.name, fault.expected, "; ".join(seen), not harness.problems)


def inject(harness: Harness, fault: Fault) -> None:
    harness.start_replica().operator.wait_until_ready()
    fault.play(harness)
    seconds = harness.settle()
    if seconds is not None:
        harness.note(f"all Ready {seconds:.0f} s after the fault")
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
        began = time.monotonic()
        for fault in faults:
            if time.monotonic() - began > LIMIT_SECONDS:
                rows.add(Row(fault.name, fault.expected, "NOT OK: not tried, time was up", False))
            else:
                rows.add(run_one(sandbox, fault, sizes))

    return run_cases(options, faults, run_all)


def main() -> int:
    """The exit code: see --help."""
    options = parse_arguments()
    return run_program("faults", lambda: run(options))
