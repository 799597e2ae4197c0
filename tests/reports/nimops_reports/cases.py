# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The cases of the folder `cases`, checked when they are read; pure but for that."""

from __future__ import annotations

import inspect
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml
from nimops_harness.errors import HarnessError

from .patterns import is_words
from .play import OPTION, Play

FOLDER = Path(__file__).resolve().parents[1] / "cases"

Step = dict[str, t.Any]

CHECKS = frozenset({"expect", "settled", "passes", "run", "log"})
"""Steps that compare something with an expectation."""


@dataclass(frozen=True)
class ReportCase:
    """A report: its public source, the kind of fault, and the right behavior."""

    name: str
    source: str
    fault: str
    right: str
    steps: tuple[Step, ...]
    quick: bool = False

    @property
    def expected(self) -> str:
        return self.right


def read_cases(folder: Path = FOLDER) -> list[ReportCase]:
    """All cases, by name; HarnessError on a file that is not a case."""
    return [parse_case(path.read_text(), path.name) for path in sorted(folder.glob("*.yaml"))]


def parse_case(text: str, file: str) -> ReportCase:
    """A case from the text of its file."""
    try:
        content = yaml.safe_load(text)
        case = ReportCase(**content | {"steps": tuple(content["steps"])})
        for step in case.steps:
            check_step(step)
    except (TypeError, KeyError, ValueError, yaml.YAMLError) as error:
        raise HarnessError(f"{file} is not a case: {error}") from error
    if file != f"{case.name.lower()}.yaml":
        raise HarnessError(f"{file}: the case in it is {case.name}")
    if not any(is_check(step) for step in case.steps):
        raise HarnessError(f"{file}: no step of it can fail by a check")
    return case


def is_check(step: Step) -> bool:
    """Whether the step compares something with an expectation."""
    return (
        any(map(is_check, step.get("steps", ()))) or "refused" in step or next(iter(step)) in CHECKS
    )


def check_step(step: Step) -> None:
    """ValueError if the step has an unknown verb, option or word."""
    verb, *options = step
    method = getattr(Play, f"step_{verb}", None)
    if not method:
        raise ValueError(f"unknown step {verb}")
    known = list(inspect.signature(method).parameters)[2:]
    if unknown := [name for name in options if OPTION.get(name, name) not in known]:
        raise ValueError(f"{verb} has no option {', '.join(unknown)}")
    for part in step.get("steps", ()):
        check_step(part)
    for pattern in patterns_of(step):
        check_pattern(pattern)


def patterns_of(step: Step) -> list[t.Any]:
    """The patterns that a step compares."""
    maps = [step[key] for key in ("expect", "meanwhile") if key in step]
    found = [pattern for patterns in maps for pattern in patterns.values()]
    return found + [step[key] for key in ("output", "log", "refused") if key in step]


def check_pattern(pattern: t.Any) -> None:
    """ValueError if it has unknown words."""
    is_words(pattern)
    parts = pattern.values() if isinstance(pattern, dict) else pattern
    for part in parts if isinstance(pattern, dict | list) else ():
        check_pattern(part)
