# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Generated values are valid by their schema, and reach all of it."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.schema import find_violations
from hypothesis import given
from nimops_fuzz import schema, strategies


@pytest.mark.parametrize("kind", schema.KINDS)
def test_resources_valid(kind: str) -> None:
    @strategies.IN_TESTS
    @given(strategies.resources(kind), strategies.statuses(kind))
    def check(resource: t.Any, status: t.Any) -> None:
        assert find_violations(schema.schema_of(kind, "spec"), resource["spec"]) == []
        assert find_violations(schema.schema_of(kind, "status"), status) == []

    check()


def test_values_reach_every_field() -> None:
    """A field is fuzzed the day it is added: nothing of a schema is out of reach."""
    fields: dict[str, t.Any] = {f"f{number}": {"type": "string"} for number in range(6)}
    nested = {
        "type": "object",
        "properties": {**fields, "below": {"type": "object", "properties": fields}},
    }
    values = itertools.islice(strategies.draw_many(strategies.values(nested), 1), 100)
    seen = {spot.place for value in values for spot in schema.walk(nested, value)}
    assert {(name,) for name in fields} | {("below", name) for name in fields} <= seen


def test_draw_many_by_seed() -> None:
    made = strategies.resources("NIMService")
    first, again, other = (
        list(itertools.islice(strategies.draw_many(made, number), 15)) for number in (7, 7, 8)
    )
    assert first == again
    assert first != other
