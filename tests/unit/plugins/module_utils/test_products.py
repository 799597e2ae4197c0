# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""No two fields of a spec multiply without a bound: found by growing every field of every kind.

A field is grown alone and beside all others. What it adds beside them, beyond what it adds alone,
is what it shares with them. If that grows faster than the fields do, it is a product.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
import typing as t
from functools import cache, cached_property
from pathlib import Path
from unittest import mock

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import TOO_LARGE
from ansible_collections.nimops.nim.plugins.module_utils._base.json_size import json_size
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.render import simulation
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    SimulationResult,
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import OPERATOR, Observed
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tests" / "attack")]

from nimops_attack.fields import make_plain  # noqa: E402
from nimops_harness.crds import read_schemas  # noqa: E402

Json = dict[str, t.Any]
Place = tuple[str | int, ...]

SAMPLES, FACTS = ROOT / "config/samples", ROOT / "tests/golden/facts.yaml"
UNSEARCHED = {
    f"nimservice_{name}"
    for name in (
        "autoscaling", "dra", "endpoint_picker", "gateway", "huggingface", "ingress", "kserve",
        "kserve_knative", "multi_node", "pvc",
    )
} | {"apps_v1alpha1_nimservice"}  # fmt: skip
"""Samples whose pods are those of another one: a search takes half a minute of CPU."""
N, MOST_DEEP, MOST_PASSES = 2, 4, 5
HEAVY_BYTES, MOST_ELEMENTS = 100_000, 2000
GROUP = 8
NIGHTLY = {
    *(f"nimservice_{name}" for name in ("lora", "restricted", "streams")),
    "nimcache_all_profiles", "apps_v1alpha1_nimcache", "gpu_clusterpolicy",
}  # fmt: skip
"""Samples whose search takes five to twenty seconds of CPU; another sample of NIMService is searched on each change."""
MOST_MIB = 64
"""Memory of a refused pass, of a custom resource of up to two heavy fields."""


def documents(file: Path) -> list[Json]:
    return [item for item in yaml.safe_load_all(file.read_text()) if item]


@cache
def facts() -> list[Json]:
    (listed,) = documents(FACTS)
    return [*listed["items"], *documents(SAMPLES / "nemo-prerequisites.yaml")]


def bases() -> t.Iterator[t.Any]:
    for file in sorted(SAMPLES.glob("*_*.yaml")):
        for number, item in enumerate(documents(file)):
            if item["kind"] in read_schemas():
                yield pytest.param(item, id=f"{file.stem}-{number}")


@cache
def caches() -> list[Json]:
    found = [item for file in sorted(SAMPLES.glob("*_*.yaml")) for item in documents(file)]
    return [item for item in found if item["kind"] == "NIMCache"]


def list_places(schema: Json, path: Place, value: t.Any) -> t.Iterator[tuple[Place, Json]]:
    """The lists and free maps, also those of the first element of a list, and the texts in none."""
    if "items" in schema:
        yield path, schema
        first = value[0] if value else make_plain(schema["items"])
        yield from list_places(schema["items"], (*path, 0), first)
    elif isinstance(schema.get("additionalProperties"), dict) or is_free_text(schema, path):
        yield path, schema
    given = value if isinstance(value, dict) else {}
    for name, inner in (schema.get("properties") or {}).items():
        yield from list_places(inner, (*path, name), given.get(name))


def is_free_text(schema: Json, path: Place) -> bool:
    is_text = schema.get("type") == "string" and not {"enum", "format"} & schema.keys()
    return is_text and 0 not in path


def grown(schema: Json, value: t.Any, count: int, name: str) -> t.Any:
    """A value with so many elements more, which all differ from those of any other field."""
    names = [f"{name}{number}" for number in range(count)]
    if "items" in schema:
        return [*(value or []), *(element(schema["items"], item) for item in names)]
    if schema.get("type") == "string":
        return str(value or "") + "x" * 8 * count
    inner = schema["additionalProperties"]
    return {**(value or {}), **{item: element(inner, item) for item in names}}


def element(schema: Json, name: str) -> t.Any:
    plain = make_plain(schema)
    if isinstance(plain, str):
        return plain if "enum" in schema else name
    if isinstance(plain, dict) and (schema.get("properties") or {}).get("name"):
        plain["name"] = name
    return plain


def put(schema: Json, value: t.Any, path: Place, count: int, name: str = "x") -> t.Any:
    """The value with the field at the path enlarged; missing parents are created."""
    if not path:
        return grown(schema, value, count, name)
    first, *rest = path
    if first == 0:
        head, *tail = value or [make_plain(schema["items"])]
        return [put(schema["items"], head, tuple(rest), count, f"{name}in"), *tail]
    whole = dict(value) if isinstance(value, dict) else make_plain(schema)
    inner = schema["properties"][first]
    whole[first] = put(
        inner, whole.get(first), tuple(rest), count, f"{name}{str(first)[:2]}".lower()
    )
    return whole


def render(resource: Json, passes: int = MOST_PASSES) -> SimulationResult:
    """The simulated resource, in a cluster with the caches that it names."""
    text = json.dumps(resource)
    named = [item for item in caches() if f'"{item["metadata"]["name"]}"' in text]
    given = [resource, *(item for item in named if item["kind"] != resource["kind"])]
    own = [(item["kind"], item["metadata"]["name"]) for item in given]
    others = [item for item in facts() if (item["kind"], item["metadata"]["name"]) not in own]
    home = {"namespace": "nim", "uid": "1"}
    given = [{**item, "metadata": {**home, **item["metadata"]}} for item in given]
    with mock.patch.object(simulation, "_MAX_PASSES", passes):
        return simulate(given, Facts(others, namespace="nim").ask)


def rendered_bytes(found: SimulationResult) -> int:
    return sum(json_size(item.child.manifest) for item in found.wanted.values())


class Growth:
    """Growth of the rendered objects with the fields of one resource."""

    def __init__(self, base: Json) -> None:
        self.base, self.schema = base, read_schemas()[base["kind"]]["properties"]["spec"]
        self.sizes: dict[frozenset[tuple[Place, int]], int] = {}
        whole = render(base)
        self.problems = self._problems(whole)
        # Most kinds have all their objects after one pass of five.
        few = (render(base, passes) for passes in range(1, MOST_PASSES))
        sizes = enumerate(map(rendered_bytes, few), 1)
        wanted = rendered_bytes(whole)
        self.passes = next((passes for passes, size in sizes if size == wanted), MOST_PASSES)
        self.nothing = self.size({})

    @staticmethod
    def _problems(found: SimulationResult) -> set[str]:
        return {str(key) for key in found.problems}

    def resource(self, counts: t.Mapping[Place, int]) -> Json:
        spec = self.base["spec"]
        for place in sorted(counts, key=lambda place: (len(place), str(place))):
            spec = put(self.schema, spec, place, counts[place])
        return {**self.base, "spec": spec}

    def size(self, counts: t.Mapping[Place, int]) -> int:
        """The bytes of all that is rendered; -1 if it cannot be."""
        key = frozenset(counts.items())
        if key not in self.sizes:
            self.sizes[key] = self._measure(counts)
        return self.sizes[key]

    def _measure(self, counts: t.Mapping[Place, int]) -> int:
        try:
            found = render(self.resource(counts), self.passes)
        except (KeyError, TypeError, ValueError, AttributeError):
            return -1
        if self._problems(found) - self.problems:
            return -1
        return rendered_bytes(found)

    @cached_property
    def places(self) -> list[Place]:
        """The places that can grow together."""
        return self._with(
            [],
            [
                place
                for place, _schema in list_places(self.schema, (), self.base["spec"])
                # A NIMService of a pipeline is a separate resource. Deeper fields are copied unchanged.
                if place[:3] != ("services", 0, "spec")
                and len(place) <= MOST_DEEP
                and self.size({place: N}) > self.nothing
            ],
        )

    def _with(self, chosen: list[Place], more: list[Place]) -> list[Place]:
        """The chosen places, and those of the others that can grow with all before: half by half, as most can."""
        if not more or self.size(dict.fromkeys([*chosen, *more], N)) > 0:
            return [*chosen, *more]
        if len(more) == 1:
            return chosen
        middle = len(more) // 2
        return self._with(self._with(chosen, more[:middle]), more[middle:])

    def count_of(self, place: Place) -> int:
        """How many elements are heavy."""
        few, none = (json_size(self.resource({place: count})) for count in (50, 0))
        return min(HEAVY_BYTES * 50 // (few - none), MOST_ELEMENTS)

    def shared(self, place: Place, others: t.Iterable[Place], count: int) -> int:
        """The size that a field adds only in combination with others."""
        rest = dict.fromkeys(others, count)
        beside = self.size({**rest, place: count}) - self.size(rest)
        return beside - (self.size({place: count}) - self.nothing)

    def multiplies(self, place: Place, others: t.Sequence[Place]) -> bool:
        """Whether the shared size grows faster than the fields: its second difference is not 0."""
        once, twice, thrice = (self.shared(place, others, times * N) for times in (1, 2, 3))
        return thrice - 2 * twice + once > N

    def bend(self, places: t.Iterable[Place]) -> int:
        """The second difference of the size while these fields grow: 0 without a product of two of them."""
        once, twice, thrice = (self.size(dict.fromkeys(places, times * N)) for times in (1, 2, 3))
        return thrice - 2 * twice + once

    def may_multiply(self, group: t.Collection[Place]) -> bool:
        """Whether one of these fields may be in a product: few groups are searched field by field."""
        rest = [place for place in self.places if place not in group]
        inside = self.bend(group)
        return inside > N or self.bend(self.places) - self.bend(rest) - inside > N

    @cached_property
    def products(self) -> list[tuple[Place, Place]]:
        groups = (self.places[first : first + GROUP] for first in range(0, len(self.places), GROUP))
        factors = [
            place
            for group in groups
            if self.may_multiply(group)
            for place in group
            if self.multiplies(place, [other for other in self.places if other != place])
        ]
        pairs = [(a, b) for index, a in enumerate(factors) for b in factors[index + 1 :]]
        return [(a, b) for a, b in pairs if self.multiplies(a, [b])]


def searched() -> t.Iterator[t.Any]:
    for item in bases():
        name = item.id.rpartition("-")[0]
        if name not in UNSEARCHED:
            marks = [pytest.mark.nightly] if name in NIGHTLY else []
            yield pytest.param(*item.values, id=item.id, marks=marks)


@pytest.mark.parametrize("base", list(searched()))
def test_products_are_refused_before_copying(base: Json) -> None:
    """The memory is that of the first pair: to trace it takes five times as long as to render."""
    growth = Growth(base)
    for number, pair in enumerate(growth.products):
        resource = growth.resource({place: growth.count_of(place) for place in pair})
        found, peak = render_traced(resource) if number == 0 else (render(resource), 0)
        reported = "; ".join(text for texts in found.problems.values() for text in texts)
        assert " in each of " in reported, pair
        assert [place for place in pair if f"spec.{place[0]}" not in reported] == [], reported
        assert peak < MOST_MIB, pair


def render_traced(resource: Json) -> tuple[SimulationResult, int]:
    """The simulated resource, and the most memory at once, in MiB."""
    tracemalloc.start()
    try:
        return render(resource), tracemalloc.get_traced_memory()[1] >> 20
    finally:
        tracemalloc.stop()


@pytest.mark.nightly
@pytest.mark.parametrize("base", list(searched()))
def test_products_take_little_memory(base: Json) -> None:
    growth = Growth(base)
    for pair in growth.products:
        resource = growth.resource({place: growth.count_of(place) for place in pair})
        assert render_traced(resource)[1] < MOST_MIB, pair


def test_products_search_finds_known() -> None:
    (base,) = documents(SAMPLES / "nimservice_emptydir.yaml")
    growth = Growth(base)
    growth.places = [("args",), ("env",), ("initContainers",), ("sidecarContainers",)]
    assert growth.products == [(("env",), ("initContainers",)), (("env",), ("sidecarContainers",))]


@pytest.mark.parametrize("base", list(bases()))
def test_products_reported_without_retry(base: Json) -> None:
    kind, outcome = kind_of(base), Outcome(failure="spec.env: too much", failure_reason=TOO_LARGE)
    resource = {**base, "metadata": {"namespace": "nim", **base["metadata"]}}
    result = kind.assess(kind.app(resource, Observed({OPERATOR: {}})), outcome)
    assert result.error == ""
    (stalled,) = [item for item in result.status["conditions"] if item["type"] == "Stalled"]
    assert (stalled["status"], stalled["message"]) == ("True", "spec.env: too much")
    assert [event.message for event in result.events if "spec.env: too much" in event.message]
