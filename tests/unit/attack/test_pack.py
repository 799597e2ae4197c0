# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Places of a schema, and payloads that are packed into resources."""

from __future__ import annotations

import pytest
import yaml
from nimops_attack.fields import build, find_named, list_places
from nimops_attack.pack import Packer, Refusal
from nimops_attack.payloads import PayloadClass
from nimops_harness.cluster import Json

SCHEMA = yaml.safe_load("""
properties:
  metadata: {}
  spec:
    properties:
      free: {type: string}
      url: {type: string, pattern: '^https?://.*$'}
      word: {type: string, pattern: '^[a-z]+$'}
      short: {type: string, maxLength: 4}
      count: {type: integer}
      one: {type: object, properties: {a: {type: string}, b: {type: string}}}
      labels: {type: object, additionalProperties: {type: string}}
      deep: {type: object, additionalProperties: {type: array, items: {type: string}}}
      any: {x-kubernetes-preserve-unknown-fields: true}
      items:
        type: array
        items:
          required: [id]
          properties: {id: {type: string}, value: {x-kubernetes-int-or-string: true}}
""")
PLACES = list_places(SCHEMA, "spec")
PAYLOAD = PayloadClass("test", "{{ long payload @TOKEN@ }}", "{{}}")


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("spec.free", ["spec.free"]),
        ("spec.labels", ["spec.labels.<key>", "spec.labels.{}"]),
        ("spec.labels.attack.nimops.nim/v", ["spec.labels.{}"]),
        ("spec.labels[a b]", ["spec.labels.<key>", "spec.labels.{}"]),
        ("spec.items[0].id", ["spec.items[].id"]),
        ("spec.deep.attack.nimops.nim/v[0]", ["spec.deep.{}[]"]),
        ("spec.any", ["spec.any.<key>", "spec.any.{}"]),
        ("spec", []),
        ("spec.items", []),
        ("", []),
    ],
)
def test_find_named(field: str, named: list[str]) -> None:
    assert [str(place) for place in find_named(field, PLACES)] == named


def test_build() -> None:
    places = {str(place): place for place in list_places(SCHEMA, "spec", "metadata")}
    texts = {places["spec.items[].value"]: "V", places["spec.labels.<key>"]: "K"}
    texts |= {places["spec.any.{}"]: "A", places["metadata.annotations.{}"]: "M"}
    base = {"spec": {"free": "kept", "items": [{"id": "i"}, {"id": "j"}]}}
    assert build(SCHEMA, base, texts) == {
        "metadata": {"annotations": {"attack.nimops.nim/v": "M"}},
        "spec": {
            "free": "kept",
            "items": [{"id": "i", "value": "V"}, {"id": "j"}],
            "labels": {"K": "a"},
            "any": {"attack.nimops.nim/v": "A"},
        },
    }
    assert base["spec"]["items"] == [{"id": "i"}, {"id": "j"}], "the base is left alone"


def ask(resource: Json) -> Refusal | None:
    """An API server: schema first, then rules; each may name a field, or the field around it."""
    spec = resource["spec"]
    causes = []
    if not spec.get("word", "a").isalpha():
        causes.append(("spec.word", "Invalid value: spec.word in body should match"))
    if not causes and len(spec.get("one", {})) > 1:
        causes.append(("spec", "exactly one of a and b"))
    if not causes and any("{" in key for key in spec.get("labels", {})):
        causes.append(("spec.labels", "Invalid value: keys"))
    return Refusal(tuple(causes)) if causes else None


def test_pack() -> None:
    """All places but the refused ones are in a resource, with their tokens."""
    packer = Packer("X", SCHEMA, PAYLOAD, "/c", ask)
    packing = packer.pack([{"spec": {"one": {"b": "x"}}}, {"spec": {}}], PLACES)
    first, second = ({str(place) for place in item.tokens} for item in packing.packed)
    assert sorted({"spec.one.a", "spec.one.b"} & first) != ["spec.one.a", "spec.one.b"]
    assert second < {"spec.one.a", "spec.one.b"}
    refused = {str(place): said for place, said in packing.refused.items()}
    assert set(refused) == {"spec.word", "spec.labels.<key>"}
    assert "should match" in refused["spec.word"]
    assert first | second | set(refused) == {str(place) for place in PLACES}
    for item in packing.packed:
        assert ask(item.resource) is None
        tokens = {
            place: token for place, token in item.tokens.items() if str(place) != "spec.short"
        }
        assert all(token in str(item.resource) for token in tokens.values())
    spec = packing.packed[0].resource["spec"]
    assert spec["url"].startswith("http://a/{{ long")
    assert spec["short"] == "{{}}"


def test_pack_all_refused() -> None:
    packer = Packer("X", SCHEMA, PAYLOAD, "/c", lambda _: Refusal((("", "no"),)))
    packing = packer.pack([{"spec": {}}], PLACES)
    assert not packing.packed
    assert set(packing.refused.values()) == {": no"}
