# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The command: make attack."""

from __future__ import annotations

import argparse
import importlib
import math
import typing as t
from functools import partial

from nimops_harness.cases import (
    LIMIT_SECONDS,
    Rows,
    add_case_options,
    choose,
    make_parser,
    run_cases,
)
from nimops_harness.runtime import Side
from nimops_harness.sandbox import Sandbox

from .harness import ATTACKS, Harness

MODULES = ("generated", "tenants", "models", "manifests", "secrets", "settings", "sizes")
"""Modules with attacks, in the order in which these take place."""

SIDES: tuple[Side, ...] = ("prefork", "stock")


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


def run(options: argparse.Namespace) -> int:
    for name in MODULES:
        importlib.import_module(f".{name}", __package__)
    chosen = choose(ATTACKS, [attack for attack in ATTACKS if attack.quick], options)
    sides = [options.mode] if options.mode else SIDES[:1] if options.quick else SIDES
    limit = LIMIT_SECONDS if options.rounds == 1 else math.inf

    def run_all(sandbox: Sandbox, rows: Rows) -> None:
        for side in sides:
            harness = Harness(sandbox, side, options.quick)
            for attack in [item for item in chosen if side in item.sides] * options.rounds:
                name, play = f"{side}: {attack.name}", partial(harness.play, attack)
                rows.run(name, attack.expected, play, limit)
            harness.stop()

    return run_cases(options, ATTACKS, run_all)
