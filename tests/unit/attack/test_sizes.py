# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import typing as t

from nimops_attack.pack import Refusal
from nimops_attack.sizes import SHAPES, enlarge, exceed, find_unnamed, list_bounds, list_unbounded

TEXT = {"type": "string", "maxLength": 5}
SCHEMA: dict[str, t.Any] = {
    "properties": {
        "spec": {
            "properties": {
                "name": TEXT,
                "mode": {"type": "string", "enum": ["a"]},
                "port": {"x-kubernetes-int-or-string": True, "maxLength": 3},
                "count": {"type": "integer"},
                "labels": {"type": "object", "maxProperties": 2, "additionalProperties": TEXT},
                "parts": {
                    "type": "array",
                    "maxItems": 2,
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": TEXT,
                            "args": {"type": "array", "maxItems": 1, "items": TEXT},
                        },
                    },
                },
                "all": {"type": "array", "items": {"type": "string"}},
            }
        }
    }
}
BASE = {"kind": "Thing", "spec": {"name": "a"}}
BOUNDS = {
    "spec.name": 5,
    "spec.port": 3,
    "spec.labels": 2,
    "spec.parts": 2,
    "spec.all": -1,
    "spec.labels.{}": 5,
    "spec.all[]": -1,
    "spec.parts[].name": 5,
    "spec.parts[].args": 1,
    "spec.parts[].args[]": 5,
}


def bounded() -> dict[str, t.Any]:
    schema = json.loads(json.dumps(SCHEMA))
    del schema["properties"]["spec"]["properties"]["all"]
    return t.cast("dict[str, t.Any]", schema)


def test_list_bounds() -> None:
    bounds = list_bounds(SCHEMA)
    assert {str(bound.place): bound.most for bound in bounds} == BOUNDS
    depths = [len(bound.place.path) for bound in bounds]
    assert depths == sorted(depths)
    assert list_unbounded(SCHEMA) == ["spec.all", "spec.all[]"]


def test_exceed() -> None:
    schema = bounded()
    sent = list(exceed(schema, BASE))
    carried = [str(bound.place) for _resource, bounds in sent for bound in bounds]
    assert sorted(carried) == sorted(set(BOUNDS) - {"spec.all", "spec.all[]"})
    first, second, *_more = (resource["spec"] for resource, _bounds in sent)
    assert first == {
        "name": "1" * 6,
        "port": "1" * 4,
        "labels": {"k0": "a", "k1": "a", "k2": "a"},
        "parts": [{"name": "a"}] * 3,
    }
    assert second["name"] == "a"
    assert second["labels"] == {"attack.nimops.nim/v": "1" * 6}
    assert second["parts"] == [{"name": "1" * 6, "args": ["a", "a"]}]


def test_find_unnamed() -> None:
    ((_resource, bounds), *_more) = exceed(bounded(), BASE)
    causes = (
        ("spec.name", "Too long: may not be more than 5 bytes"),
        ("spec.labels", "Too many: 3: must have at most 2 items"),
        ("spec.parts", "Invalid value: something else"),
    )
    assert find_unnamed(Refusal(causes), bounds) == ["spec.port of 4", "spec.parts of 3"]
    assert len(find_unnamed(None, bounds)) == len(bounds)


def test_enlarge() -> None:
    limit = 200

    def ask(resource: dict[str, t.Any]) -> Refusal | None:
        return Refusal((("spec", "large"),)) if len(json.dumps(resource)) > limit else None

    for order in SHAPES.values():
        largest = enlarge(bounded(), BASE, order(list_bounds(bounded())), ask)
        assert len(json.dumps(BASE)) < len(json.dumps(largest)) <= limit
        assert largest["spec"]["name"] == "a"
    many = enlarge(bounded(), BASE, SHAPES["many"](list_bounds(bounded())), ask)
    assert many["spec"]["parts"] == [{"name": "n0", "args": ["a"]}, {"name": "n1"}]
