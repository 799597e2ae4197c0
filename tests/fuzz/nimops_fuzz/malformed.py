# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Resources that break their schema in one place, which a refusal has to name."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from hypothesis import strategies as st
from nimops_harness.cluster import Json

from .schema import Place, Spot, limits_of, replace, schema_of, show, walk
from .strategies import Draw, has_match, resources

_OTHERS: dict[str, tuple[t.Any, ...]] = {
    "string": (1, True, [], {}, ["a"], {"a": "b"}, 1.5),
    "integer": ("1", True, [], {}, 1.5, "", "one", 1e300),
    "number": ("1", True, [], {}),
    "boolean": ("true", 1, 0, [], {}, "yes"),
    "object": ("a", 1, True, [], [{}]),
    "array": ("a", 1, True, {}, {"a": 1}),
}
_BAD_NAMES = ("", "A", "a_b", "-a", "a-", "a..b", "x" * 254, "a b", "é", "a/b", "..", "a\n")


@dataclass(frozen=True)
class Malformed:
    """A resource, what was done to it, and where; ``names``: one of these a refusal must mention."""

    resource: Json
    what: str
    where: str
    names: tuple[str, ...]


Change = tuple[str, Place, t.Any]


def _is_open(schema: Json) -> bool:
    return bool(schema.get("x-kubernetes-preserve-unknown-fields")) or "properties" not in schema


def changes_of(spot: Spot) -> t.Iterator[Change]:
    """All ways to break a value: (what, place, what stands there then)."""
    schema, value, place = spot.schema, spot.value, spot.place
    for new in _wrong_types(schema):
        yield "wrong type", place, new
    if isinstance(value, dict):
        yield from _of_object(schema, value, place)
    elif isinstance(value, list):
        yield from _of_array(schema, value, place)
    else:
        yield from _of_scalar(schema, place)


def _wrong_types(schema: Json) -> tuple[t.Any, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return (True, [], {}, ["1"], 1.5)
    return _OTHERS.get(schema.get("type", ""), ())


def _of_object(schema: Json, value: Json, place: Place) -> t.Iterator[Change]:
    properties = schema.get("properties", {})
    for name in schema.get("required", []):
        if name in value and "default" not in properties.get(name, {}):
            yield "missing", (*place, name), ...
            yield "null", (*place, name), None
    if not _is_open(schema):
        yield "unknown field", (*place, "noSuchField"), 1
    most = schema.get("maxProperties")
    if most is not None:
        many = {f"k{number}": "v" for number in range(most + 1)}
        yield "too many", place, many


def _of_array(schema: Json, value: list[t.Any], place: Place) -> t.Iterator[Change]:
    if schema.get("minItems"):
        yield "too few", place, []
    if "maxItems" in schema and value:
        yield "too many", place, [value[0]] * (schema["maxItems"] + 1)
    if schema.get("x-kubernetes-list-type") in ("set", "map") and value:
        yield "duplicate", place, [*value, value[0]]


def _of_scalar(schema: Json, place: Place) -> t.Iterator[Change]:
    if "enum" in schema:
        yield "not in enum", place, "no-such"
    if schema.get("type") == "integer":
        least, most = limits_of(schema)
        yield "too small", place, least - 1
        yield "too great", place, most + 1
    if schema.get("minLength"):
        yield "too short", place, ""
    if "maxLength" in schema:
        yield "too long", place, "z" * (schema["maxLength"] + 1)
    if pattern := schema.get("pattern"):
        for text in ("!", "", " a", "1 Gi", "a\n", "%", "-", "é"):
            if not has_match(pattern, text):
                yield "pattern", place, text


@st.composite
def malformed(draw: Draw, kind: str) -> Malformed:
    """A resource that would be in order but for one place."""
    resource = draw(resources(kind, oddity=0.0))
    if draw(st.integers(0, 24)) == 17:
        name = draw(st.sampled_from(_BAD_NAMES))
        broken = replace(resource, ("metadata", "name"), name)
        return Malformed(broken, "bad name", "metadata.name", ("name",))
    found: dict[str, list[Change]] = {}
    for spot in walk(schema_of(kind, "spec"), resource["spec"], ("spec",)):
        for change in changes_of(spot):
            found.setdefault(change[0], []).append(change)
    what, place, new = draw(st.sampled_from(found[draw(st.sampled_from(sorted(found)))]))
    if what == "unknown field":
        broken = _add(resource, place, new)
    else:
        broken = replace(resource, place, new)
    return Malformed(broken, what, show(place), _names_of(place))


def _add(resource: Json, place: Place, new: t.Any) -> t.Any:
    """`replace` for a key that is not there yet."""
    parent = resource
    for step in place[:-1]:
        parent = parent[step]  # type: ignore[index]
    return replace(resource, place[:-1], {**parent, place[-1]: new})


def _names_of(place: Place) -> tuple[str, ...]:
    """The field, or what holds it: rules in CEL may refuse first, at a level above."""
    return tuple(dict.fromkeys(str(item) for item in reversed(place) if isinstance(item, str)))
