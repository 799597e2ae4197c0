# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The resources of a fault, and the choice of faults."""

from __future__ import annotations

import pytest
from nimops_faults.cli import parse_arguments
from nimops_faults.faults import FAULTS, QUICK_FAULT, monitor
from nimops_faults.harness import QUICK, Sizes, make_resources
from nimops_harness.cases import choose


def test_make_resources() -> None:
    made = make_resources(Sizes())
    names = {item["metadata"]["name"] for item in made}
    assert len(made) == len(names) == Sizes().total == 60
    caches = {
        item["spec"]["storage"].get("nimCache", {}).get("name")
        for item in made
        if item["kind"] == "NIMService"
    }
    assert len(caches - {None}) == Sizes().waiting
    assert caches - {None} <= names


def test_make_resources_with_change() -> None:
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
)
def test_choose(arguments: list[str], expected: list[str]) -> None:
    chosen = choose(FAULTS, [QUICK_FAULT], parse_arguments(arguments))
    assert [fault.name for fault in chosen] == expected
