# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from nimops_attack.fields import list_places
from nimops_attack.pack import Packer, Packing, Refusal
from nimops_attack.payloads import PayloadClass
from nimops_harness.cluster import Json

TEXT = {"type": "string"}
SPEC = {
    "type": "object",
    "properties": {
        "free": TEXT,
        "url": TEXT | {"pattern": "^https?://.*$"},
        "word": TEXT | {"pattern": "^[a-z]+$"},
        "short": TEXT | {"maxLength": 4},
        "one": {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
        "labels": {"type": "object", "additionalProperties": TEXT},
        "late": TEXT,
    },
}
SCHEMA = {"type": "object", "properties": {"spec": SPEC, "metadata": {}}}
PAYLOAD = PayloadClass("test", "{{ long payload @TOKEN@ }}", "{{}}")


def ask(resource: Json) -> Refusal | None:
    """An API server: schema first, then rules; each may name a field, or the field around it."""
    spec = resource["spec"]
    causes = []
    if not spec.get("url", "http://").startswith("http"):
        causes.append(("spec.url", "Invalid value: spec.url in body should match"))
    if not spec.get("word", "a").isalpha():
        causes.append(("spec.word", "Invalid value: spec.word in body should match"))
    if len(spec.get("short", "")) > 4:
        causes.append(("spec.short", "Too long: may not be more than 4 bytes"))
    if not causes and len(spec.get("one", {})) > 1:
        causes.append(("spec", "exactly one of a and b"))
    if not causes and any("{" in key for key in spec.get("labels", {})):
        causes.append(("spec.labels", "Invalid value: keys"))
    return Refusal(tuple(causes)) if causes else None


def pack(*bases: Json) -> Packing:
    return Packer("X", SCHEMA, PAYLOAD, "/c", ask).pack(
        bases or [{"spec": {}}], list_places(SCHEMA, "spec")
    )


def carried(packing: Packing) -> list[list[str]]:
    return [sorted(str(place) for place in item.tokens) for item in packing.packed]


def test_pack_turns() -> None:
    packing = pack()
    assert carried(packing) == [
        ["spec.free", "spec.labels.{}", "spec.late", "spec.one.a", "spec.short", "spec.url"],
        ["spec.one.b"],
    ]
    refused = {str(place): said for place, said in packing.refused.items()}
    assert set(refused) == {"spec.word", "spec.labels.<key>"}
    assert "should match" in refused["spec.word"]


def test_pack_accepted() -> None:
    packed = pack().packed
    for item in packed:
        assert ask(item.resource) is None
        text = str(item.resource)
        assert all(
            token in text for place, token in item.tokens.items() if str(place) != "spec.short"
        )
    spec = packed[0].resource["spec"]
    assert spec["url"].startswith("http://a/{{ long")
    assert spec["short"] == "{{}}"


def test_pack_bases() -> None:
    packing = pack({"spec": {"one": {"b": "x"}}}, {"spec": {}})
    places = {place for item in packing.packed for place in item.tokens} | set(packing.refused)
    assert places == set(list_places(SCHEMA, "spec"))


def test_pack_all_refused() -> None:
    packer = Packer("X", SCHEMA, PAYLOAD, "/c", lambda _: Refusal((("", "no"),)))
    packing = packer.pack([{"spec": {}}], list_places(SCHEMA, "spec"))
    assert not packing.packed
    assert set(packing.refused.values()) == {": no"}
