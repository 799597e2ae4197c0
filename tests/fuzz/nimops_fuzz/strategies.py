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

from hypothesis import strategies as st
from nimops_harness.cluster import Json
from nimops_harness.crds import read_samples

from .schema import (
    NAMESPACE,
    Spot,
    api_version_of,
    is_namespaced,
    limits_of,
    replace,
    schema_of,
    walk,
)

Draw = st.DrawFn
Values = st.SearchStrategy[t.Any]

PLAIN_TEXTS = (
    "model", "nim-1", "nvcr.io/nim/meta/llama:1.12.0", "ngc-secret", "/data/models", "1", "8000",
    "100Gi", "http", "ReadWriteOnce", "ReadWriteMany", "nvidia.com/gpu", "all", "tensorrt_llm",
    "https://hf.example/api", "registry.example:5000/a/b", "IfNotPresent", "example.com", "cpu",
    "metadata.name", "Resource", "Utilization", "Secret", "Exact", "PathPrefix", "Prefix", "1.2.3",
    "NIM_MODEL_NAME", "hf://meta/llama", "Exists", "NoSchedule", "ClusterIP", "LoadBalancer",
)  # fmt: skip
ODD_TEXTS = (
    "", " ", "\n", "a\nb", "a\r\nSet: b", "\x00", "\x7f\x1b[31m", "\ufeff", "\u202egnp", "ünïcödé",
    "日本語", "\U0001f600", "x" * 63, "x" * 64, "x" * 253, "x" * 254, "é" * 300, "y" * 40000,
    "0", "-1", "007", "1e3", "NaN", "null", "true", "~", "{}", "[]", "*", "&a", "!!python/name:os",
    "{{ lookup('env', 'HOME') }}", "{% raw %}", "${HOME}", "$(id)", "`id`", "'", '"', "\\", "%s%n",
    "..", "../../etc/passwd", "/", "//", "a/b/c", ".hidden", "a.b", "-x", "x-", "A_B", "a=b,c in (d)",
    "__ansible_unsafe", "__ansible_vault", "a: b", "# a", "---", "(a+)+$", "^(?i).*$", "self == 1",
    "http://[::1", "https://user:secret@host:99999/?a#b", "file:///etc/passwd", "localhost:8888",
    "1e999999999999999999999", "1e-99999", "1e99999", "0.0000000001", "9" * 400, "1E", ".5", "+1Ki",
    "2026-13-01T00:00:00Z", "1.2.3-rc.1+x", "a@sha256:", ":", "@", "a:b:c", "a//b", "=", ",", "|",
)  # fmt: skip
ODD_KEYS = (
    "a", "nvidia.com/gpu", "app", "app.kubernetes.io/name", "app.kubernetes.io/managed-by",
    "control-plane", "", " ", "a/b/c", "a.b", "..", "x" * 63, "x" * 64, "/", "é", "a\nb", "-",
    "__ansible_unsafe", "__ansible_vault", "{{ a }}", "kubernetes.io/", "*", "True", "1", "null",
    "serving.kserve.io/deploymentMode", "nimops.nim/cache-state", "nvidia.com/parent-spec-hash",
    "nimops.nim/service-state", "description", "sandbox.nimops/behave", "x.y/" + "z" * 63,
)  # fmt: skip
QUANTITIES = (
    "1", "0", "500m", "0.5Gi", "100Gi", "1e3", "2E", "-1", "+.5", "1.", "0.000001n", "1e99999",
    "1e999999999999999999999", "1e-99999", "1e1.5", "9" * 400, "99999999999999999999Ei", "16Ei",
    0, 1, 2, -1, 2**31, 2**63 - 1,
)  # fmt: skip
NAMES = (
    "a", "llm", "hold-llm", "1", "0-0", "a.b", "a.b.c-d", "x" * 50, "x" * 52, "x" * 58, "x" * 63,
    "x" * 64, "a." + "b" * 60, ".".join(["x" * 62] * 4), "y" * 253, "nim-cache-sa", "default",
    "kubernetes", "0x1f", "1e3", "null", "true", "xn--a",
)  # fmt: skip

TAKEN = ("default", "ci-deployer", "secret-reader", "billing", "builder", "all-taken")
"""Names of which others already have objects: `simulated.EXISTING`."""

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
    tree = st.recursive(
        _SCALARS,
        lambda below: st.one_of(
            st.lists(below, max_size=3),
            st.dictionaries(st.sampled_from(ODD_KEYS), below, max_size=3),
        ),
        max_leaves=8,
    )
    return st.one_of(tree, st.integers(5, 90).map(_nest), st.sampled_from(_NESTS))


def odd_object() -> Values:
    """The same, for a field that must be a map."""
    return odd_json().map(lambda value: value if isinstance(value, dict) else {"a": value})


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
    """(plain, odd) texts that a schema takes."""

    def fits(text: str) -> bool:
        return least <= len(text) <= most and has_match(pattern, text)

    plain = [text for text in PLAIN_TEXTS if fits(text)]
    odd = [text for text in ODD_TEXTS if fits(text)]
    odd += ["z" * size for size in (least, most) if 0 < size < 10**6 and fits("z" * size)]
    if pattern:
        made = st.from_regex(pattern).filter(fits)
    else:
        made = st.text(min_size=least, max_size=min(most, max(least, 12)))
    return (
        st.sampled_from(plain) if plain else made,
        st.one_of(st.sampled_from(odd), made) if odd else made,
    )


def _of_string(schema: Json) -> tuple[Values, Values]:
    if schema.get("format") == "date-time":
        times = st.sampled_from(("2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z"))
        return times, st.sampled_from(("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"))
    sizes = schema.get("minLength", 0), schema.get("maxLength", 2**31)
    return _texts(schema.get("pattern", ""), *sizes)


def _of_integer(schema: Json) -> tuple[Values, Values]:
    least, most = limits_of(schema)
    plain = [number for number in (1, 2, 80, 8000) if least <= number <= most] or [least]
    odd = {
        least,
        most,
        *(number for number in (0, -1, 2**31 - 1, 2**31) if least <= number <= most),
    }
    return st.sampled_from(plain), st.sampled_from(sorted(odd))


def _of_quantity(schema: Json) -> tuple[Values, Values]:
    pattern, most = schema.get("pattern", ""), schema.get("maxLength", 2**31)
    texts = [item for item in (*QUANTITIES, *ODD_TEXTS) if isinstance(item, str)]
    fit = [item for item in texts if len(item) <= most and has_match(pattern, item)]
    numbers = [item for item in QUANTITIES if isinstance(item, int)]
    return st.sampled_from(("1", 1, "1Gi")), st.sampled_from([*fit, *numbers])


def _leaf(schema: Json) -> tuple[Values, Values]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"]), st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return _of_quantity(schema)
    if schema.get("type") == "string":
        return _of_string(schema)
    if schema.get("type") == "boolean":
        return st.booleans(), st.booleans()
    if schema.get("type") == "number":
        return st.just(1), st.sampled_from((0, -1, 1e308, 0.1))
    return _of_integer(schema)


class Maker:
    """Values of one schema; how odd is a number from 0 (not at all) to 1."""

    def __init__(self, draw: Draw, oddity: float) -> None:
        self._draw = draw
        self._oddity = round(oddity * 100)
        self._left = 60

    def make(self, schema: Json, depth: int = 0) -> t.Any:
        """One value."""
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            return self._free(schema, depth)
        if schema.get("type") == "object":
            return self._object(schema, depth)
        if schema.get("type") == "array":
            return self._array(schema, depth)
        plain, odd = _leaf(schema)
        return self._draw(odd if self._is_odd() else plain)

    def _is_odd(self) -> bool:
        return self._draw(st.integers(0, 99)) >= 100 - self._oddity

    def _free(self, schema: Json, depth: int) -> t.Any:
        known = self._object(schema, depth) if "properties" in schema else {}
        if not self._is_odd():
            return known
        free = self._draw(odd_object() if schema.get("type") == "object" else odd_json())
        return {**free, **known} if isinstance(free, dict) else free

    def _object(self, schema: Json, depth: int) -> Json:
        if "properties" not in schema:
            return self._map(schema, depth)
        properties = schema["properties"]
        required = [name for name in schema.get("required", []) if name in properties]
        others = [name for name in properties if name not in required]
        chosen = list(required)
        if others and self._left > 0:
            most = min(len(others), max(1, 5 - depth))
            chosen += self._draw(st.lists(st.sampled_from(others), unique=True, max_size=most))
        self._left -= len(chosen)
        return {name: self._field(properties[name], depth) for name in chosen}

    def _field(self, schema: Json, depth: int) -> t.Any:
        """A field; one that has a default may be null, which the API server replaces."""
        if "default" in schema and self._is_odd() and self._draw(st.integers(0, 4)) == 3:
            return None
        return self.make(schema, depth + 1)

    def _map(self, schema: Json, depth: int) -> Json:
        below = schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        most = min(schema.get("maxProperties", 3), 3)
        keys = ODD_KEYS if self._is_odd() else ODD_KEYS[:3]
        names = self._draw(st.lists(st.sampled_from(keys), unique=True, max_size=most))
        return {name: self.make(below, depth + 1) for name in names}

    def _array(self, schema: Json, depth: int) -> list[t.Any]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 10**6)
        size = self._draw(st.integers(least, min(most, max(least, 2))))
        if self._left > 0 and self._is_odd():
            size = self._draw(st.sampled_from((least, min(most, 5))))
        items = [self.make(schema["items"], depth + 1) for _number in range(size)]
        return distinct(schema, items)


def distinct(schema: Json, items: list[t.Any]) -> list[t.Any]:
    """Without what the list's type does not allow twice."""
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return items
    keys = schema.get("x-kubernetes-list-map-keys", ())
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
        return t.cast(Json, Maker(draw, oddity).make(schema))
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
        made = maker.make(properties[name], len(spot.place))
        return replace(value, spot.place, {**spot.value, name: made})
    if isinstance(spot.value, dict) and isinstance(free, dict):
        added = {draw(st.sampled_from(ODD_KEYS)): maker.make(free)}
        return replace(value, spot.place, {**spot.value, **added})
    if not spot.place:
        return value
    return replace(value, spot.place, maker.make(spot.schema, len(spot.place)))


@st.composite
def resources(draw: Draw, kind: str, oddity: float = 0.3) -> Json:
    """Resources that are valid by schema."""
    names = TAKEN if draw(st.integers(0, 3)) == 1 else NAMES
    metadata: Json = {"name": draw(st.sampled_from(names))}
    if is_namespaced(kind):
        metadata["namespace"] = NAMESPACE
    if draw(st.integers(0, 3)) == 2:
        metadata["annotations"] = {
            draw(
                st.sampled_from(("nimops.nim/cache-state", "nimops.nim/service-state", "a"))
            ): draw(st.sampled_from(ODD_TEXTS))
        }
    return {
        "apiVersion": api_version_of(kind),
        "kind": kind,
        "metadata": metadata,
        "spec": draw(specs(kind, oddity)),
    }


@st.composite
def statuses(draw: Draw, kind: str) -> Json:
    """The status that a resource may have had before."""
    return t.cast(Json, Maker(draw, 0.2).make(schema_of(kind, "status")))
