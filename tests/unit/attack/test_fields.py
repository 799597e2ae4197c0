# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from nimops_attack.fields import Place, build, find_named, list_places, make_plain, read_crds

ROOT = Path(__file__).resolve().parents[3]
BASES = ROOT / "config" / "crd" / "bases"
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


def count_texts(node: object) -> int:
    """Texts and free maps of a schema, counted in another way than the code does."""
    if isinstance(node, list):
        return sum(map(count_texts, node))
    if not isinstance(node, dict):
        return 0
    here = int(node.get("type") == "string" or "x-kubernetes-int-or-string" in node)
    free = "additionalProperties" in node or "x-kubernetes-preserve-unknown-fields" in node
    unknown = "x-kubernetes-preserve-unknown-fields" in node
    inner = [
        *(node.get("properties") or {}).values(),
        node.get("items"),
        node.get("additionalProperties"),
    ]
    return here + int(free) + int(unknown) + sum(map(count_texts, inner))


@pytest.mark.parametrize("kind", ["NIMBuild", "NIMCache", "NIMPipeline", "NIMService"])
@pytest.mark.parametrize("part", ["spec", "status"])
def test_list_places_of_crds(kind: str, part: str) -> None:
    schema = read_crds(BASES)[kind]
    assert len(list_places(schema, part)) == count_texts(schema["properties"][part]) > 0


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


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, "a"),
        (TEXT | {"default": "d"}, "d"),
        (TEXT | {"enum": ["x", "y"]}, "x"),
        (TEXT | {"pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"}, "1.2.3"),
        (TEXT | {"format": "date-time"}, "2026-01-01T00:00:00Z"),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": TEXT, "minItems": 2}, ["a", "a"]),
        ({"type": "object", "required": ["x"], "properties": {"x": TEXT, "y": TEXT}}, {"x": "a"}),
    ],
)
def test_make_plain(schema: dict[str, object], expected: object) -> None:
    assert make_plain(schema) == expected
