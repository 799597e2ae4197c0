# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Generated values are valid by their schema, or broken in one place."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import (
    find_violations,
    schema_of,
)
from hypothesis import given
from nimops_fuzz import draws, malformed, schema, strategies

UNCHECKED = {"bad name", "duplicate"}
"""Rules that only the API server checks."""


@pytest.mark.parametrize("kind", schema.KINDS)
def test_resources_valid(kind: str) -> None:
    @draws.IN_TESTS
    @given(strategies.resources(kind))
    def check(resource: t.Any) -> None:
        assert find_violations(schema_of(kind), resource) == []

    check()


@pytest.mark.parametrize("kind", schema.KINDS)
def test_statuses_valid(kind: str) -> None:
    @draws.IN_TESTS
    @given(strategies.statuses(kind))
    def check(status: t.Any) -> None:
        assert find_violations(schema.schema_of(kind, "status"), status) == []

    check()


@pytest.mark.parametrize("kind", schema.KINDS)
def test_malformed_named(kind: str) -> None:
    @draws.IN_TESTS
    @given(malformed.malformed(kind))
    def check(broken: malformed.Malformed) -> None:
        if broken.what not in UNCHECKED:
            faults = find_violations(schema_of(kind), broken.resource)
            assert any(name in fault for fault in faults for name in broken.names), broken

    check()


SPOT = schema.Spot
TEXT = {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[a-z]+$"}
OBJECT = {
    "type": "object",
    "required": ["a"],
    "properties": {"a": {"type": "integer", "maximum": 9}},
}


@pytest.mark.parametrize(
    ("spot", "ways"),
    [
        pytest.param(SPOT(TEXT, "ab", ("t",)), {"wrong type", "too short", "too long", "pattern"}, id="text"),
        pytest.param(SPOT(OBJECT, {"a": 1}, ()), {"wrong type", "missing", "null", "unknown field"}, id="object"),
        pytest.param(SPOT({"type": "string", "enum": ["a"]}, "a", ("e",)), {"wrong type", "not in enum"}, id="enum"),
        pytest.param(SPOT(OBJECT["properties"]["a"], 1, ("a",)), {"wrong type", "too small", "too great"}, id="number"),  # type: ignore[index]
        pytest.param(
            SPOT({"type": "array", "items": {}, "maxItems": 1, "minItems": 1, "x-kubernetes-list-type": "set"}, [1], ("l",)),
            {"wrong type", "too many", "too few", "duplicate"},
            id="list",
        ),
        pytest.param(SPOT({"x-kubernetes-int-or-string": True}, "1", ("q",)), {"wrong type"}, id="quantity"),
        pytest.param(SPOT({"type": "object", "additionalProperties": {}, "maxProperties": 1}, {}, ("m",)), {"wrong type", "too many"}, id="map"),
    ],
)  # fmt: skip
def test_changes_of(spot: schema.Spot, ways: set[str]) -> None:
    assert {what for what, _place, _new in malformed.changes_of(spot)} == ways


def test_values_reach_every_field() -> None:
    """A field is fuzzed the day it is added: nothing of a schema is out of reach."""
    fields: dict[str, t.Any] = {f"f{number}": {"type": "string"} for number in range(6)}
    nested = {
        "type": "object",
        "properties": {**fields, "below": {"type": "object", "properties": fields}},
    }
    values = itertools.islice(draws.draw_many(strategies.values(nested), 1), 100)
    seen = {spot.place for value in values for spot in schema.walk(nested, value)}
    assert {(name,) for name in fields} | {("below", name) for name in fields} <= seen


def test_draw_many_by_seed() -> None:
    made = strategies.resources("NIMService")
    first, again, other = (
        list(itertools.islice(draws.draw_many(made, number), 15)) for number in (7, 7, 8)
    )
    assert first == again
    assert first != other
