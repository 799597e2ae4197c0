# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from nimops_attack.fields import Place, build, find_named, list_places

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "kind": TEXT,
        "metadata": {"type": "object"},
        "spec": {
            "type": "object",
            "properties": {
                "name": TEXT,
                "count": {"type": "integer"},
                "port": {"x-kubernetes-int-or-string": True},
                "labels": {"type": "object", "additionalProperties": TEXT},
                "deep": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": TEXT},
                },
                "any": {"x-kubernetes-preserve-unknown-fields": True},
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id"],
                        "properties": {"id": TEXT, "value": TEXT},
                    },
                },
            },
        },
    },
}


def names(places: list[Place]) -> list[str]:
    return [str(place) for place in places]


def test_list_places() -> None:
    assert names(list_places(SCHEMA, "spec")) == [
        "spec.name",
        "spec.port",
        "spec.labels.<key>",
        "spec.labels.{}",
        "spec.deep.<key>",
        "spec.deep.{}[]",
        "spec.any.<key>",
        "spec.any.{}",
        "spec.items[].id",
        "spec.items[].value",
    ]


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("spec.name", ["spec.name"]),
        ("spec.labels", ["spec.labels.<key>", "spec.labels.{}"]),
        ("spec.labels.attack.nimops.nim/v", ["spec.labels.{}"]),
        ("spec.labels[a b]", ["spec.labels.<key>", "spec.labels.{}"]),
        ("spec.items[0].id", ["spec.items[].id"]),
        ("spec.deep.attack.nimops.nim/v[0]", ["spec.deep.{}[]"]),
        ("spec", []),
        ("spec.items", []),
        ("", []),
    ],
)
def test_find_named(field: str, named: list[str]) -> None:
    assert names(find_named(field, list_places(SCHEMA, "spec"))) == named


def test_build() -> None:
    places = {str(place): place for place in list_places(SCHEMA, "spec", "metadata")}
    texts = {places["spec.items[].value"]: "V", places["spec.labels.<key>"]: "K"}
    texts |= {places["spec.any.{}"]: "A", places["metadata.annotations.{}"]: "M"}
    base = {
        "kind": "X",
        "metadata": {"name": "n"},
        "spec": {"name": "kept", "items": [{"id": "i"}, {"id": "j"}]},
    }
    assert build(SCHEMA, base, texts) == {
        "kind": "X",
        "metadata": {"name": "n", "annotations": {"attack.nimops.nim/v": "M"}},
        "spec": {
            "name": "kept",
            "items": [{"id": "i", "value": "V"}, {"id": "j"}],
            "labels": {"K": "a"},
            "any": {"attack.nimops.nim/v": "A"},
        },
    }
    assert base["spec"]["items"] == [{"id": "i"}, {"id": "j"}], "the base is left alone"
