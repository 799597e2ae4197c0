# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The cases are complete, and each can fail."""

from __future__ import annotations

import typing as t

import pytest
from nimops_harness.errors import HarnessError
from nimops_reports.cases import parse_case, patterns_of, read_cases
from nimops_reports.cli import parse_arguments
from nimops_reports.patterns import find_mismatches, is_words
from nimops_reports.play import as_list_pattern

CASES = read_cases()
NUMBERS = {
    "R": [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 21, 24, 25],
    "G": [1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21],
}
NAMES = {f"{letter}{number:02}" for letter, numbers in NUMBERS.items() for number in numbers}
FOUND = {f"S{number}" for number in range(1, 9)} | {f"N{number}" for number in range(1, 7)}
HEAD = "name: X\nsource: s\nfault: f\nright: r\nsteps:\n"


def test_read_cases_has_each_report() -> None:
    assert {case.name for case in CASES} == NAMES | FOUND


def test_read_cases_has_quick_ones_of_each_family() -> None:
    quick = {case.name[0] for case in CASES if case.quick}
    assert quick >= {"R", "G", "N"}


def all_patterns() -> t.Iterator[t.Any]:
    for case in CASES:
        steps = [part for step in case.steps for part in (step, *step.get("steps", ()))]
        for number, pattern in enumerate(part for step in steps for part in patterns_of(step)):
            yield pytest.param(pattern, id=f"{case.name}-{number}")


@pytest.mark.parametrize("pattern", list(all_patterns()))
def test_patterns_of_cases_can_fail(pattern: t.Any) -> None:
    """Neither no object nor an arbitrary one may match; negative patterns fail on an example."""
    listed = as_list_pattern(pattern)
    tries = [[], [{}], example_of(pattern)]
    assert any(find_mismatches(listed, actual) for actual in tries)


def example_of(pattern: t.Any) -> t.Any:
    """Data that a negative pattern forbids."""
    if is_words(pattern):
        return [pattern.get("$none")] if "$none" in pattern else pattern.get("$lacks", [])
    return pattern


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        pytest.param("- wait: 1", "unknown step wait", id="step"),
        pytest.param(
            "- expect: {A/b: none}\n  until: 3", "expect has no option until", id="option"
        ),
        pytest.param("- expect: {A/b: {$has: x, y: 1}}", "unknown words: y", id="word"),
        pytest.param("- expect: {A/b: {c: [{$hass: x}]}}", "unknown words: [$]hass", id="nested"),
        pytest.param("- repeat: 2\n  steps: [{wait: 1}]", "unknown step wait", id="repeated"),
        pytest.param("- create: [{kind: A}]", "can fail by a check", id="no check"),
        pytest.param("- [1]", "is not a case", id="no mapping"),
        pytest.param("", "is not a case", id="no steps"),
    ],
)
def test_parse_case_invalid(steps: str, problem: str) -> None:
    with pytest.raises(HarnessError, match=problem):
        parse_case(HEAD + steps, "x.yaml")


def test_parse_case_other_name() -> None:
    with pytest.raises(HarnessError, match=r"y.yaml: the case in it is X"):
        parse_case(f"{HEAD}- log: a", "y.yaml")


def test_parse_arguments() -> None:
    assert parse_arguments(["--quick"]).quick
    assert parse_arguments(["--only", "R01"]).only == "R01"
