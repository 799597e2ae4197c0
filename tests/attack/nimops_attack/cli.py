# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make attack."""

from __future__ import annotations

import argparse
import importlib
import math
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
from nimops_harness.runtime import Side
from nimops_harness.sandbox import Sandbox

from .harness import ATTACKS, Attack, Harness

MODULES = (
    "generated", "tenants", "races", "models", "manifests", "people", "process", "switches", "registry",
    "secrets", "runtime_annotations", "sizes", "products", "account", "foreign", "oversized",
)  # fmt: skip
"""Modules with attacks, in the order in which these take place."""

LIMIT_SECONDS = 33 * 60
_BEGAN = time.monotonic()
SIDES: tuple[Side, ...] = ("prefork", "stock")
ERRORS = (HarnessError, OSError, RuntimeError)


def parse_arguments(argv: t.Sequence[str] | None = None) -> argparse.Namespace:
    parser = make_parser(
        "attack",
        "Attacks the operator on a sandbox of its own.",
        "0 all attacks failed; 1 one did not",
    )
    add_case_options(parser, "a few attacks, with prefork only")
    parser.add_argument("--mode", choices=SIDES, help="one mode of the operator only")
    parser.add_argument("--rounds", type=int, default=1, help="rounds of each attack, without a time limit")  # fmt: skip
    return parser.parse_args(argv)


def run_side(harness: Harness, attacks: t.Sequence[Attack], rounds: int, rows: Rows) -> None:
    """Prepare all attacks before the operator starts, then run one after the other."""
    ready = [attack for attack in attacks if prepare(harness, attack, rows)]
    seconds = LIMIT_SECONDS if rounds == 1 else math.inf
    for attack in ready:
        for _ in range(rounds):
            rows.add(run_one(harness, attack, seconds))


def prepare(harness: Harness, attack: Attack, rows: Rows) -> bool:
    name = f"{harness.side}: {attack.name}"
    try:
        if attack.prepare:
            say(f"preparing {name}")
            attack.prepare(harness)
    except ERRORS as error:
        rows.add(Row(name, attack.expected, f"not prepared: {error}", False))
        return False
    return True


def run_one(harness: Harness, attack: Attack, seconds: float) -> Row:
    name, began = f"{harness.side}: {attack.name}", time.monotonic()
    if began - _BEGAN > seconds:
        return Row(name, attack.expected, "not tried: the time was up", False)
    try:
        harness.ensure()
        seen = attack.run(harness)
        ok, text = seen.ok, seen.text
        if harness.operator and not harness.operator.is_running:
            ok, text = False, f"the operator ended; {text}"
    except ERRORS as error:
        ok, text = False, f"not completed: {error}"
    harness.clear_canary()
    say(f"{'ok ' if ok else 'NOT'} {name} ({time.monotonic() - began:.0f} s): {text}")
    return Row(name, attack.expected, text, ok)


def run(options: argparse.Namespace) -> int:
    for name in MODULES:
        importlib.import_module(f".{name}", __package__)
    attacks = ATTACKS
    chosen = choose(attacks, [attack for attack in attacks if attack.quick], options)
    sides = [options.mode] if options.mode else SIDES[:1] if options.quick else SIDES

    def run_all(sandbox: Sandbox, rows: Rows) -> None:
        for side in sides:
            harness = Harness(sandbox, side, options.quick)
            try:
                run_side(
                    harness, [item for item in chosen if side in item.sides], options.rounds, rows
                )
            finally:
                harness.stop()

    return run_cases(options, attacks, run_all)


def main() -> int:
    """The exit code: see --help."""
    options = parse_arguments()
    return run_program("attack", lambda: run(options))
