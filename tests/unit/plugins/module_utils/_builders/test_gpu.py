# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.gpu import (
    GPU,
    amounts_of,
    has_gpus,
    parallelism_of,
    parse_parallelism,
    with_gpus,
)

AMOUNTS_OF_CASES = {
    "none": (None, {"requests": {}, "limits": {}}),
    "empty": ({"limits": None, "claims": [{"name": "c"}]}, {"requests": {}, "limits": {}}),
    "numbers become text": (
        {"requests": {"cpu": 0.5}, "limits": {GPU: 1, "memory": "4Gi"}},
        {"requests": {"cpu": "0.5"}, "limits": {GPU: "1", "memory": "4Gi"}},
    ),
}


@pytest.mark.parametrize(("resources", "amounts"), AMOUNTS_OF_CASES.values(), ids=AMOUNTS_OF_CASES)
def test_amounts_of(resources: t.Any, amounts: t.Any) -> None:
    assert amounts_of(resources) == amounts


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ({"requests": {}, "limits": {}}, False),
        ({"requests": {"cpu": "1"}, "limits": {}}, False),
        ({"requests": {GPU: "1"}, "limits": {}}, True),
        ({"requests": {}, "limits": {GPU: "0"}}, True),
    ],
    ids=["nothing", "no GPUs", "requests", "limits"],
)
def test_has_gpus(amounts: t.Any, expected: bool) -> None:
    assert has_gpus(amounts) is expected


def test_with_gpus() -> None:
    amounts = {"requests": {"cpu": "1"}, "limits": {GPU: "1"}}
    made = with_gpus(amounts, "4")
    assert made == {"requests": {"cpu": "1", GPU: "4"}, "limits": {GPU: "4"}}
    assert amounts == {"requests": {"cpu": "1"}, "limits": {GPU: "1"}}


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ({}, ""),
        ({"config": None}, ""),
        ({"config": {"tp": "2"}}, "2"),
        ({"config": {"tp": " 2 "}}, "2"),
        ({"config": {"tp": "2", "tensorParallelism": "4"}}, "4"),
        ({"config": {"tp": "2", "tensorParallelism": ""}}, "2"),
    ],
)
def test_parallelism_of(profile: t.Any, text: str) -> None:
    assert parallelism_of(profile) == text


@pytest.mark.parametrize(("text", "count"), [("1", "1"), ("08", "8"), ("128", "128")])
def test_parse_parallelism(text: str, count: str) -> None:
    assert parse_parallelism(text, "p", "fix it") == count


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "two", "\u00b2", "\u0661", " 1"])
def test_parse_parallelism_invalid(text: str) -> None:
    with pytest.raises(NimError) as raised:
        parse_parallelism(text, "p", "fix it")
    assert str(raised.value) == (
        f"profile p has tensor parallelism {text!r}, which is not a number of GPUs: fix it"
    )
