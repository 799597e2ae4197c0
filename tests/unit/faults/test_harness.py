# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What is put in flight, and which faults are played."""

from __future__ import annotations

import typing as t

import pytest
from nimops_faults.cli import choose, parse_arguments
from nimops_faults.faults import FAULTS, monitor
from nimops_faults.harness import QUICK, Sizes, make_resources
from nimops_harness.errors import HarnessError


@pytest.mark.parametrize(("sizes", "total"), [(Sizes(), 60), (QUICK, 8)], ids=["whole", "quick"])
def test_resources_are_as_many_as_said_and_spread(sizes: Sizes, total: int) -> None:
    made = make_resources(sizes)
    names = [item["metadata"]["name"] for item in made]
    assert len(made) == len(set(names)) == sizes.total == total
    assert sum(item["kind"] == "NIMCache" for item in made) == sizes.caches
    assert {made[0]["kind"], made[1]["kind"]} == {"NIMCache", "NIMService"}
    waited_for = [
        item["spec"]["storage"]["nimCache"]["name"]
        for item in made
        if "cached-" in item["metadata"]["name"]
    ]
    assert len(waited_for) == sizes.waiting
    assert set(waited_for) <= set(names)


def test_a_change_is_made_to_services_only() -> None:
    made = make_resources(QUICK, monitor)
    assert {item["kind"] for item in made if "metrics" in item["spec"]} == {"NIMService"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], [fault.name for fault in FAULTS]),
        (["--quick"], ["quick"]),
        (["--only", "tmp-full,none"], ["none", "tmp-full"]),
        (["--quick", "--only", "tmp-full"], ["tmp-full"]),
    ],
    ids=["all", "quick", "some", "some-quickly"],
)
def test_choose(arguments: list[str], expected: list[str]) -> None:
    assert [fault.name for fault in choose(parse_arguments(arguments))] == expected


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(HarnessError, match="no such row: flood; there are none, "):
        choose(parse_arguments(["--only", "flood"]))


def test_each_fault_says_what_must_hold() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(names) == len(set(names))
    assert all("nothing lost" in fault.expected for fault in t.cast(t.Any, FAULTS))
