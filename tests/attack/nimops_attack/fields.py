# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The places of a resource for a tenant's text, from the CRD."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from nimops_harness.cluster import Json

ELEMENT, ENTRY = "[]", "{}"
ENTRY_KEY = "attack.nimops.nim/v"
"""The key of an entry whose value is attacked."""

_METADATA: Json = {
    "type": "object",
    "properties": {
        key: {"type": "object", "additionalProperties": {"type": "string"}}
        for key in ("annotations", "labels")
    },
}
_EXAMPLES = ("a", "1", "1.2.3", "1Gi", "http://a/v1/hf", "5s", "a.b", "2026-01-01T00:00:00Z", "")


@dataclass(frozen=True)
class Place:
    """A text, or with `is_key` the keys of a free map; the schema of the text or of a value."""

    path: tuple[str, ...]
    is_key: bool = False
    schema: Json = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return ".".join(self.path).replace(".[]", "[]") + (".<key>" if self.is_key else "")

    @property
    def name(self) -> str:
        """The field as the API server names it."""
        return _name(self.path)

    @property
    def map_name(self) -> str:
        """The free map that it is in, empty if in none."""
        if self.is_key:
            return self.name
        return _name(self.path[:-1]) if self.path[-1] == ENTRY else ""


def _name(path: tuple[str, ...]) -> str:
    return ".".join(path).replace(".[]", "[0]").replace(f".{ENTRY}", f".{ENTRY_KEY}")


def find_named(field_name: str, places: t.Iterable[Place]) -> list[Place]:
    """The places that a refusal of this field concerns.

    It may name a free map as a whole, or an entry of it, whose key may hold anything.
    """
    exact, around = [], []
    for place in places:
        if place.name == field_name and not place.is_key:
            exact.append(place)
        elif (name := place.map_name) and (
            field_name == name or field_name.startswith((f"{name}.", f"{name}["))
        ):
            around.append(place)
    longest = max((len(place.map_name) for place in around), default=0)
    return exact or [place for place in around if len(place.map_name) == longest]


def list_places(schema: Json, *parts: str) -> list[Place]:
    """All places of these parts of a resource (spec, metadata, status)."""
    properties = schema["properties"] | {"metadata": _METADATA}
    return [
        place
        for part in parts
        if part in properties
        for path, inner in walk(properties[part], (part,))
        for place in _places_of(inner, path)
    ]


def _places_of(schema: Json, path: tuple[str, ...]) -> t.Iterator[Place]:
    if is_text(schema):
        yield Place(path, schema=schema)
    if is_free(schema):
        yield Place(path, is_key=True, schema=value_schema(schema))
        if not isinstance(schema.get("additionalProperties"), dict):
            yield Place((*path, ENTRY), schema=value_schema(schema))


def is_free(schema: Json) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) or bool(
        schema.get("additionalProperties")
    )


def value_schema(schema: Json) -> Json:
    """The schema of the values of a free map; a text if any value is allowed."""
    inner = schema.get("additionalProperties")
    return inner if isinstance(inner, dict) else {"type": "string"}


def walk(schema: Json, path: tuple[str, ...]) -> t.Iterator[tuple[tuple[str, ...], Json]]:
    """The schema at a path, and all below it, also of items and of values of maps."""
    yield path, schema
    inner = {**(schema.get("properties") or {}), ELEMENT: schema.get("items")}
    inner[ENTRY] = schema.get("additionalProperties")
    for name, below in inner.items():
        if isinstance(below, dict):
            yield from walk(below, (*path, name))


def is_text(schema: Json) -> bool:
    return schema.get("type") == "string" or bool(schema.get("x-kubernetes-int-or-string"))


def takes(schema: Json, text: str) -> bool:
    """Whether pattern, enum and length allow a text; the API server may refuse it nevertheless."""
    pattern, most = schema.get("pattern"), schema.get("maxLength")
    if "enum" in schema and text not in schema["enum"]:
        return False
    if (most is not None and len(text) > most) or _is_odd_time(schema, text):
        return False
    return not pattern or bool(re.search(re.sub(r"\$$", r"\\Z", pattern), text))


def _is_odd_time(schema: Json, text: str) -> bool:
    return schema.get("format") == "date-time" and text not in _EXAMPLES[-2:-1]


def make_plain(schema: Json) -> t.Any:
    """The plainest value that a schema allows, without regard to rules between fields."""
    if "default" in schema or "enum" in schema:
        return schema["default"] if "default" in schema else schema["enum"][0]
    if is_text(schema):
        low = schema.get("minLength", 0)
        fits = (text for text in _EXAMPLES if takes(schema, text) and len(text) >= low)
        return next(fits, "a")
    return _PLAIN.get(schema.get("type", ""), _plain_object)(schema)


def _plain_object(schema: Json) -> Json:
    properties = schema.get("properties") or {}
    return {name: make_plain(properties[name]) for name in schema.get("required") or []}


def _plain_array(schema: Json) -> list[t.Any]:
    return [make_plain(schema["items"]) for _ in range(schema.get("minItems", 0))]


_PLAIN: dict[str, t.Callable[[Json], t.Any]] = {
    "array": _plain_array,
    "integer": lambda schema: schema.get("minimum", 1),
    "number": lambda schema: schema.get("minimum", 1),
    "boolean": lambda _schema: False,
}


def build(schema: Json, base: Json, texts: t.Mapping[Place, str]) -> Json:
    """The base with these texts in their places, and with the fields that these places require."""
    tree: _Tree = {}
    for place, text in texts.items():
        node = tree
        for part in place.path:
            node = node.setdefault(part, {})
        node[_Leaf(place.is_key)] = text
    whole = {**schema, "properties": schema["properties"] | {"metadata": _METADATA}}
    built = _grow(whole, base, tree)
    return t.cast(Json, built)


@dataclass(frozen=True)
class _Leaf:
    is_key: bool


_Tree = dict[t.Any, t.Any]
"""By part of a path; at its end, the text by _Leaf."""


def _grow(schema: Json, base: t.Any, tree: _Tree) -> t.Any:
    if _Leaf(False) in tree:
        return tree[_Leaf(False)]
    if "items" in schema:
        head = base[0] if base else None
        return [_grow(schema["items"], head, tree[ELEMENT]), *(base or [])[1:]]
    grown = dict(base) if isinstance(base, dict) else {}
    properties = schema.get("properties") or {}
    for part, below in tree.items():
        if isinstance(part, _Leaf):
            grown[below] = make_plain(value_schema(schema))
        elif part == ENTRY:
            grown[ENTRY_KEY] = _grow(value_schema(schema), None, below)
        else:
            grown[part] = _grow(properties[part], grown.get(part), below)
    for name in schema.get("required") or []:
        if name not in grown:
            grown[name] = make_plain(properties[name])
    return grown
