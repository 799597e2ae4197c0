# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Hypothesis strategies of structural schemas: values that are valid, and as odd as that allows.

Rules in CEL are ignored: the API server decides which values it accepts. So many resources start
from a sample with odd parts; the others are made from the schema alone.
"""

from __future__ import annotations

import re
import typing as t
from functools import cache
from pathlib import Path

import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS as RESOURCES,
)
from hypothesis import HealthCheck, Phase, Verbosity, configuration, given, seed, settings
from hypothesis import strategies as st
from nimops_harness.cluster import Json
from nimops_harness.crds import read_samples
from nimops_harness.runtime import ROOT

from .schema import NAMESPACE, Spot, limits_of, replace, schema_of, walk

configuration.set_hypothesis_home_dir(ROOT / "build" / "hypothesis")

T = t.TypeVar("T")
Draw = st.DrawFn
Values = st.SearchStrategy[t.Any]


class _Loader(yaml.SafeLoader):
    """YAML with the tag !repeat: texts, each followed by how often it occurs."""


def _repeat(loader: _Loader, node: yaml.SequenceNode) -> str:
    parts = loader.construct_sequence(node)
    return "".join(text * count for text, count in zip(parts[::2], parts[1::2], strict=True))


_Loader.add_constructor("!repeat", _repeat)
VALUES: dict[str, list[t.Any]] = yaml.load(
    Path(__file__).parents[1].joinpath("values.yaml").read_text(), _Loader
)
ODD_TEXTS, ODD_KEYS, NAMES = VALUES["odd_texts"], VALUES["odd_keys"], VALUES["names"]

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.sampled_from(ODD_TEXTS)
)
_NESTS: tuple[Json, ...] = (
    {"plugins": [], "schedulingProfiles": [{}]},
    {"apiVersion": 1, "kind": None, "plugins": "none"},
    {"plugins": [{"type": "x", "name": "x"}, {"type": "x"}, {}]},
)


@cache
def odd_json() -> Values:
    """Values of unknown fields."""
    names = st.sampled_from(ODD_KEYS)
    tree = st.recursive(
        _SCALARS,
        lambda below: st.lists(below, max_size=3) | st.dictionaries(names, below, max_size=3),
        max_leaves=8,
    )
    return st.one_of(tree, st.integers(5, 90).map(_nest), st.sampled_from(_NESTS))


def _nest(depth: int) -> Json:
    tree: t.Any = "deep"
    for level in range(depth):
        tree = [tree] if level % 3 == 0 else {"a": tree}
    return {"a": tree}


def has_match(pattern: str, text: str) -> bool:
    """Whether a text matches as in the API server, where $ does not match before a line break."""
    is_cut = pattern.endswith("$") and text.endswith("\n")
    return not is_cut and bool(re.search(pattern, text))


@cache
def _texts(pattern: str, least: int, most: int) -> tuple[Values, Values]:
    """(plain, odd) texts that a schema accepts."""

    def fits(text: str) -> bool:
        return least <= len(text) <= most and has_match(pattern, text)

    plain = [text for text in VALUES["plain_texts"] if fits(text)]
    longest = ["z" * size for size in (least, most) if 0 < size < 10**6]
    odd = [text for text in (*ODD_TEXTS, *longest) if fits(text)]
    if pattern:
        made = st.from_regex(pattern).filter(fits)
    else:
        made = st.text(min_size=least, max_size=min(most, max(least, 12)))
    return st.sampled_from(plain) if plain else made, st.sampled_from(odd) | made if odd else made


def _numbers(least: int, most: int) -> tuple[Values, Values]:
    """(plain, odd) numbers that a schema accepts."""
    plain = [number for number in (1, 2, 80, 8000) if least <= number <= most] or [least]
    odd = {number for number in (0, -1, 2**31 - 1, 2**31) if least <= number <= most}
    return st.sampled_from(plain), st.sampled_from(sorted(odd | {least, most}))


def _quantities(pattern: str, most: int) -> tuple[Values, Values]:
    """(plain, odd) quantities that a schema accepts."""
    odd = [
        item
        for item in (*VALUES["quantities"], *ODD_TEXTS)
        if isinstance(item, int) or (len(item) <= most and has_match(pattern, item))
    ]
    return st.sampled_from(("1", 1, "1Gi")), st.sampled_from(odd)


def _leaf(schema: Json) -> tuple[Values, Values]:
    """(plain, odd) values of a schema that is neither a map nor a list."""
    kind, pattern = schema.get("type"), schema.get("pattern", "")
    most = schema.get("maxLength", 2**31)
    if "enum" in schema or kind == "boolean":
        either = st.sampled_from(schema.get("enum", (True, False)))
        return either, either
    if schema.get("x-kubernetes-int-or-string"):
        return _quantities(pattern, most)
    if schema.get("format") == "date-time":
        times = st.sampled_from(("2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z"))
        return times, st.sampled_from(("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"))
    if kind == "string":
        return _texts(pattern, schema.get("minLength", 0), most)
    if kind == "number":
        return st.just(1), st.sampled_from((0, -1, 1e308, 0.1))
    return _numbers(*limits_of(schema))


class Maker:
    """Values of a schema; `oddity` is the share of odd ones, from 0 to 1."""

    def __init__(self, draw: Draw, oddity: float) -> None:
        self._draw = draw
        self._oddity = round(oddity * 100)
        self._left = 60

    def make(self, schema: Json, depth: int = 0) -> t.Any:
        """One value."""
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return self._make_free(schema, depth)
        if schema.get("type") == "object":
            return self._make_object(schema, depth)
        if schema.get("type") == "array":
            return self._make_array(schema, depth)
        plain, odd = _leaf(schema)
        return self._draw(odd if self._is_odd() else plain)

    def _is_odd(self) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - self._oddity

    def _make_free(self, schema: Json, depth: int) -> t.Any:
        known = self._make_object(schema, depth) if "properties" in schema else {}
        if not self._is_odd():
            return known
        free = self._draw(odd_json())
        if isinstance(free, dict):
            return {**free, **known}
        return {"a": free} if schema.get("type") == "object" else free

    def _make_object(self, schema: Json, depth: int) -> Json:
        if "properties" not in schema:
            return self._make_map(schema, depth)
        properties = schema["properties"]
        chosen = [name for name in schema.get("required", []) if name in properties]
        others = [name for name in properties if name not in chosen]
        if others and self._left > 0:
            most = min(len(others), max(1, 5 - depth))
            chosen += self._draw(st.lists(st.sampled_from(others), unique=True, max_size=most))
        self._left -= len(chosen)
        return {name: self._make_field(properties[name], depth) for name in chosen}

    def _make_field(self, schema: Json, depth: int) -> t.Any:
        """A field; one that has a default may be null, which the API server replaces."""
        if "default" in schema and self._is_odd() and self._draw(st.integers(0, 4)) == 3:
            return None
        return self.make(schema, depth + 1)

    def _make_map(self, schema: Json, depth: int) -> Json:
        below = schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        most = min(schema.get("maxProperties", 3), 3)
        keys = st.sampled_from(ODD_KEYS if self._is_odd() else ODD_KEYS[:3])
        names = self._draw(st.lists(keys, unique=True, max_size=most))
        return {name: self.make(below, depth + 1) for name in names}

    def _make_array(self, schema: Json, depth: int) -> list[t.Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 10**6)
        size = self._draw(st.integers(least, min(most, max(least, 2))))
        if self._left > 0 and self._is_odd():
            size = self._draw(st.sampled_from((least, min(most, 5))))
        return distinct(schema, [self.make(schema["items"], depth + 1) for _number in range(size)])


def distinct(schema: Json, items: list[t.Any]) -> list[t.Any]:
    """Without what the list's type does not allow twice."""
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", ())
    if kind not in ("set", "map"):
        return items
    found: dict[str, t.Any] = {}
    for item in items:
        key = [item.get(name) for name in keys] if kind == "map" else item
        found.setdefault(repr(key), item)
    return list(found.values())


@st.composite
def values(draw: Draw, schema: Json, oddity: float = 0.3) -> t.Any:
    """Values of a schema."""
    return Maker(draw, oddity).make(schema)


@st.composite
def specs(draw: Draw, kind: str, oddity: float) -> Json:
    """A spec from the schema alone, or from a sample with some parts replaced."""
    schema, samples = schema_of(kind, "spec"), read_samples().get(kind, ())
    if not samples or draw(st.integers(0, 9)) in (4, 7):
        return t.cast(Json, draw(values(schema, oddity)))
    spec = draw(st.sampled_from(samples))["spec"]
    for _number in range(draw(st.integers(0, 5))):
        spec = draw(grafted(schema, spec, oddity))
    return t.cast(Json, spec)


@st.composite
def grafted(draw: Draw, schema: Json, value: Json, oddity: float) -> t.Any:
    """The value with one part replaced, added or removed."""
    spot: Spot = draw(st.sampled_from(list(walk(schema, value))))
    maker = Maker(draw, oddity)
    properties = spot.schema.get("properties", {})
    free = spot.schema.get("additionalProperties")
    if isinstance(spot.value, dict) and properties:
        name = draw(st.sampled_from(list(properties)))
        added = {name: maker.make(properties[name], len(spot.place))}
    elif isinstance(spot.value, dict) and isinstance(free, dict):
        added = {draw(st.sampled_from(ODD_KEYS)): maker.make(free)}
    elif spot.place:
        return replace(value, spot.place, maker.make(spot.schema, len(spot.place)))
    else:
        return value
    return replace(value, spot.place, {**spot.value, **added})


@st.composite
def resources(draw: Draw, kind: str, oddity: float = 0.3) -> Json:
    """Resources that are valid by schema."""
    metadata: Json = {"name": draw(st.sampled_from(NAMES))}
    if RESOURCES[kind].is_namespaced:
        metadata["namespace"] = NAMESPACE
    if draw(st.integers(0, 3)) == 2:
        keys = st.sampled_from(("nimops.nim/cache-state", "nimops.nim/service-state", "a"))
        metadata["annotations"] = {draw(keys): draw(st.sampled_from(ODD_TEXTS))}
    spec = draw(specs(kind, oddity))
    version = RESOURCES[kind].version
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def statuses(kind: str) -> st.SearchStrategy[Json]:
    """The statuses that a resource may have had before."""
    return values(schema_of(kind, "status"), 0.2)


# --- many values of a strategy -------------------------------------------------------------------

_BATCH = 10
"""Values of each seed; after more, Hypothesis would repeat variations."""

IN_TESTS = settings(
    max_examples=12,
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
"""Settings for deterministic tests, on a machine of any speed."""

_SETTINGS = settings(
    IN_TESTS, max_examples=_BATCH, derandomize=False, phases=[Phase.generate], verbosity=Verbosity.quiet
)  # fmt: skip


def draw_many(strategy: st.SearchStrategy[T], number: int) -> t.Iterator[T]:
    """Values without end, each once, from a seed on."""
    seen: set[str] = set()
    while True:
        for value in _batch(strategy, number):
            if (text := repr(value)) not in seen:
                seen.add(text)
                yield value
        number += 1


def _batch(strategy: st.SearchStrategy[T], number: int) -> list[T]:
    found: list[T] = []

    @seed(number)
    @_SETTINGS
    @given(strategy)
    def take(value: T) -> None:
        found.append(value)

    take()
    return found
