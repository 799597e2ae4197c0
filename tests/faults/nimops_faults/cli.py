# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make faults."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
import typing as t
from pathlib import Path

from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.runtime import ROOT
from nimops_harness.sandbox import Sandbox, enter, open_sandbox
from nimops_harness.table import Row, make_table, select, write_rows

from .faults import FAULTS, QUICK_FAULT, Fault
from .harness import QUICK, Harness, Sizes

OUTPUT = ROOT / "build" / "faults"
LIMIT_SECONDS = 33 * 60
EPILOG = """Exit codes: 0 the operator got over all faults; 1 not over all of them; 2 they cannot be tried
here; 130 interrupted."""


def parse_arguments(argv: t.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests/faults", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Faults, each with 60 resources in flight, on a sandbox in namespaces of its own.",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--only", default="", metavar="NAME[,NAME]", help="these, no others")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="two faults, or those of --only, on eight resources; writes results-quick.json",
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of results and logs")
    return parser.parse_args(argv)


def choose(arguments: argparse.Namespace) -> list[Fault]:
    """The faults to play; HarnessError if one is not known."""
    if not arguments.only:
        return [QUICK_FAULT] if arguments.quick else list(FAULTS)
    try:
        names = select([fault.name for fault in FAULTS], arguments.only)
    except ValueError as error:
        raise HarnessError(str(error)) from None
    return [fault for fault in FAULTS if fault.name in names]


@contextlib.contextmanager
def noting(harness: Harness) -> t.Iterator[None]:
    """What cannot be done is a problem of the harness, and the next one is played."""
    try:
        yield
    except HarnessError as error:
        harness.object(f"not played to the end: {error}")


def play(sandbox: Sandbox, fault: Fault, sizes: Sizes) -> Row:
    """One fault from an empty namespace to an empty namespace."""
    say(f"{fault.name}: {fault.expected.partition(';')[0]}")
    harness = Harness(sandbox, fault.name, sizes)
    with noting(harness), fault.surround(harness):
        with noting(harness):
            play_one(harness, fault)
        harness.close()
    seen = [f"NOT OK: {problem}" for problem in harness.problems] + harness.notes
    return Row(fault.name, fault.expected, "; ".join(seen), not harness.problems)


def play_one(harness: Harness, fault: Fault) -> None:
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


def play_all(faults: t.Sequence[Fault], sizes: Sizes, folder: Path, results: Path) -> list[Row]:
    """The rows, written after each fault: an interrupted run has those that it came to."""
    began, rows = time.monotonic(), list[Row]()
    with open_sandbox(folder) as sandbox:
        for fault in faults:
            if time.monotonic() - began > LIMIT_SECONDS:
                rows.append(
                    Row(fault.name, fault.expected, "NOT OK: not tried, time was up", False)
                )
            else:
                rows.append(play(sandbox, fault, sizes))
            write_rows(results, rows)
    return rows


def run(arguments: argparse.Namespace) -> int:
    faults = choose(arguments)
    if arguments.list:
        print("\n".join(f"{fault.name:32} {fault.expected}" for fault in faults))
        return 0
    folder = arguments.output.resolve()
    results = folder / ("results-quick.json" if arguments.quick else "results.json")
    enter(folder)
    rows = play_all(faults, QUICK if arguments.quick else Sizes(), folder, results)
    print(make_table(rows), flush=True)
    say(f"written: {results}; logs: {folder / 'logs'}")
    return 0 if rows and all(row.ok for row in rows) else 1


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: t.Sequence[str] | None = None) -> int:
    """Exit code: see --help."""
    arguments = parse_arguments(argv)
    try:
        signal.signal(signal.SIGTERM, interrupt)
        return run(arguments)
    except HarnessError as error:
        print(f"faults: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
