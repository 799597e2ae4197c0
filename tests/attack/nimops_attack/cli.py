# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make attack."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
import typing as t
from pathlib import Path

from nimops_harness.errors import HarnessError
from nimops_harness.progress import say
from nimops_harness.runtime import ROOT, Side
from nimops_harness.sandbox import Sandbox, enter, open_sandbox
from nimops_harness.table import Row, make_table, select, write_rows

from . import (
    account,
    foreign,
    generated,
    manifests,
    models,
    oversized,
    people,
    process,
    products,
    races,
    registry,
    runtime_annotations,
    secrets,
    sizes,
    switches,
    tenants,
)
from .harness import Attack, Harness

OUTPUT = ROOT / "build" / "attack"
EPILOG = """Exit codes: 0 all attacks came to nothing; 1 one did not; 2 they cannot begin; 130 interrupted."""
LIMIT_SECONDS = 33 * 60
_BEGAN = time.monotonic()
SIDES: tuple[Side, ...] = ("prefork", "stock")


def list_attacks() -> list[Attack]:
    """All of them, in the order in which they take place."""
    modules = (
        generated, tenants, races, models, manifests, people, process, switches, registry,
        secrets, runtime_annotations, sizes, products, account, foreign, oversized,
    )  # fmt: skip
    return [attack for module in modules for attack in module.list_attacks()]


def parse_arguments(argv: t.Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests/attack",
        description="Attacks the operator on a sandbox of its own.",
        epilog=EPILOG,
    )
    parser.add_argument("--list", action="store_true", help="name the attacks, and run none")
    parser.add_argument("--only", metavar="NAME[,NAME]", help="these attacks only")
    parser.add_argument("--mode", choices=SIDES, help="one mode of the operator only")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a few of them, with prefork only; writes results-quick.json",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=1,
        help="play each attack so many times, however long it takes",
    )
    parser.add_argument("--output", type=Path, default=OUTPUT, help="folder of results and logs")
    return parser.parse_args(argv)


def choose(options: argparse.Namespace) -> list[tuple[Side, list[Attack]]]:
    """Which attacks each mode gets; ValueError names what there is not."""
    attacks = list_attacks()
    if options.only:
        chosen = select([attack.name for attack in attacks], options.only)
        attacks = [attack for attack in attacks if attack.name in chosen]
    elif options.quick:
        attacks = [attack for attack in attacks if attack.quick]
    sides: list[Side] = ["prefork"] if options.quick else list(SIDES)
    sides = [options.mode] if options.mode else sides
    return [(side, [item for item in attacks if side in item.sides]) for side in sides]


def play(harness: Harness, attacks: t.Sequence[Attack], rounds: int, rows: list[Row]) -> None:
    """One mode: first what comes before the operator, then attack by attack."""
    ready = [attack for attack in attacks if prepare(harness, attack, rows)]
    seconds = LIMIT_SECONDS if rounds == 1 else math.inf
    for attack in ready:
        rows += [play_one(harness, attack, seconds) for _ in range(rounds)]
    harness.stop()


def prepare(harness: Harness, attack: Attack, rows: list[Row]) -> bool:
    try:
        if attack.prepare:
            say(f"{harness.side}: preparing {attack.name}")
            attack.prepare(harness)
    except (HarnessError, OSError, RuntimeError) as error:
        rows.append(
            Row(f"{harness.side}: {attack.name}", attack.expected, f"not prepared: {error}", False)
        )
        return False
    return True


def play_one(harness: Harness, attack: Attack, seconds: float) -> Row:
    name, began = f"{harness.side}: {attack.name}", time.monotonic()
    if began - _BEGAN > seconds:
        return Row(name, attack.expected, "not tried: the time was up", False)
    try:
        harness.ensure()
        seen = attack.run(harness)
        ok, text = seen.ok, seen.text
        if harness.operator and not harness.operator.is_running:
            ok, text = False, f"the operator ended; {text}"
    except (HarnessError, OSError, RuntimeError) as error:
        ok, text = False, f"not to the end: {error}"
    harness.clear_canary()
    say(f"{'ok ' if ok else 'NOT'} {name} ({time.monotonic() - began:.0f} s): {text}")
    return Row(name, attack.expected, text, ok)


def run(options: argparse.Namespace) -> int:
    plan = choose(options)
    if options.list:
        print("\n".join(f"{item.name:32} {item.expected}" for item in list_attacks()))
        return 0
    folder = options.output.resolve()
    results = folder / ("results-quick.json" if options.quick else "results.json")
    enter(folder)
    rows: list[Row] = []
    try:
        with open_sandbox(folder) as sandbox:
            play_all(sandbox, plan, options, rows)
    finally:
        write_rows(results, rows)
        print(make_table(rows), flush=True)
    say(f"written: {results}")
    return 0 if rows and all(row.ok for row in rows) else 1


def play_all(
    sandbox: Sandbox,
    plan: t.Sequence[tuple[Side, list[Attack]]],
    options: argparse.Namespace,
    rows: list[Row],
) -> None:
    for side, attacks in plan:
        harness = Harness(sandbox, side, options.quick)
        try:
            play(harness, attacks, options.rounds, rows)
        finally:
            harness.stop()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main(argv: t.Sequence[str] | None = None) -> int:
    """Exit code: see --help."""
    options = parse_arguments(argv)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return run(options)
    except (HarnessError, ValueError) as error:
        print(f"attack: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
