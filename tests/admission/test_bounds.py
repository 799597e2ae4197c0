# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds of lists, maps, texts and whole specs: larger values are refused quickly, by field name."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "attack"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from nimops_attack.fields import (
    Place,
    build,
    is_text,
    list_places,
    make_plain,
    value_schema,
    walk,
)
from nimops_attack.pack import Refusal
from nimops_harness.crds import read_schemas

CRDS = read_schemas()
SPEC_BYTES = 96 << 10
TOO_LONG = f"must be at most {SPEC_BYTES} bytes long"
FAR = 20_000

Manifest = dict[str, Any]

LEAST: dict[str, Manifest] = {
    kind: spec
    for name in ("nim", "nemo", "gpu")
    for kind, spec in yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text()).items()
}


def least(kind: str) -> Manifest:
    return {"kind": kind, "metadata": {"name": "sizes"}, "spec": LEAST[kind]}


def ask(cluster: Any, manifest: Manifest) -> Refusal | None:
    """A refusal in the form of the attack tests."""
    refusal = cluster.create(manifest)
    return refusal and Refusal(refusal.causes)


ROOM = 1_000_000
"""Bytes of a request with many values; the API server accepts 3 MiB."""


@dataclass(frozen=True)
class Bound:
    """The bound of a list, a map or a text."""

    place: Place
    most: int

    @property
    def schema(self) -> Manifest:
        return self.place.schema

    def make(self, size: int) -> Any:
        """A value of that size, as plain as possible."""
        if "items" in self.schema:
            return [make_plain(self.schema["items"])] * size
        if is_text(self.schema):
            return "1" * size
        plain = make_plain(value_schema(self.schema))
        return {f"k{number}": plain for number in range(size)}


def keyword_of(schema: Manifest) -> str:
    """The keyword that bounds a schema's values, empty if they need none."""
    if "items" in schema:
        return "maxItems"
    if "additionalProperties" in schema:
        return "maxProperties"
    return "maxLength" if is_text(schema) and "enum" not in schema else ""


def list_bounds(schema: Manifest) -> list[Bound]:
    """All of a spec, outer ones before inner ones."""
    found = [
        Bound(Place(path, schema=inner), inner.get(keyword, -1))
        for path, inner in walk(schema["properties"]["spec"], ("spec",))
        if (keyword := keyword_of(inner))
    ]
    return sorted(found, key=lambda bound: len(bound.place.path))


def exceed(schema: Manifest, base: Manifest) -> Iterator[tuple[Manifest, list[Bound]]]:
    """Resources with values one above their bounds, as many in each as fit, and their bounds."""
    left = list_bounds(schema)
    while left:
        chosen, room = [left[0]], ROOM
        for bound in left[1:]:
            room -= len(json.dumps(bound.make(bound.most + 1)))
            if room > 0 and not any(is_below(bound, other) for other in chosen):
                chosen.append(bound)
        values = {bound.place: bound.make(bound.most + 1) for bound in chosen}
        yield build(schema, base, values), chosen
        left = [bound for bound in left if bound not in chosen]


def is_below(bound: Bound, other: Bound) -> bool:
    """Whether a bound is inside the value of another; outer ones come first."""
    inner, outer = bound.place.path, other.place.path
    return inner[: len(outer)] == outer


def find_unnamed(refusal: Refusal | None, bounds: list[Bound]) -> list[str]:
    """The bounds that a refusal does not name."""
    causes = refusal.causes if refusal else ()
    named = {field for field, text in causes if text.startswith(("Too many", "Too long"))}
    names = {bound.place.name: bound.most for bound in bounds}
    return [f"{name} of {most + 1}" for name, most in names.items() if name not in named]


@pytest.mark.parametrize("kind", sorted(CRDS))
def test_bounds_exceeded(cluster: Any, kind: str) -> None:
    assert [str(bound.place) for bound in list_bounds(CRDS[kind]) if bound.most < 0] == []
    unnamed, count = [], 0
    for manifest, bounds in exceed(CRDS[kind], least(kind)):
        unnamed += find_unnamed(ask(cluster, manifest), bounds)
        count += len(bounds)
    assert unnamed == []
    assert count == len(list_bounds(CRDS[kind]))


def plain_places(kind: str) -> Manifest:
    """A plain value for each text of a spec, by path; rules may still refuse some of them."""
    places = list_places(CRDS[kind], "spec")
    return {place: make_plain(place.schema) for place in places if not place.is_key}


@pytest.mark.parametrize("kind", sorted(CRDS))
def test_field_sizes_known(cluster: Any, kind: str) -> None:
    """A rule that cannot be evaluated would refuse valid resources."""
    manifest = build(CRDS[kind], least(kind), plain_places(kind))
    refusal = ask(cluster, manifest)
    assert "evaluating" not in str(refusal)
    assert TOO_LONG not in str(refusal)


def top_texts(kind: str) -> list[tuple[Any, int]]:
    """Lists of texts directly in a spec, with the maximum length of a text; then maps."""
    found = []
    for bound in list_bounds(CRDS[kind]):
        items = bound.schema.get("items") or bound.schema.get("additionalProperties") or {}
        if items.get("type") == "string" and "pattern" not in items and "enum" not in items:
            found.append((bound, items["maxLength"]))
    return found


def with_size(kind: str, size: int, letter: str = "x") -> Manifest:
    """A manifest with additional bytes in lists and maps of texts."""
    values: Manifest = {}
    for bound, length in top_texts(kind):
        if size <= 0 or any(part in ("podAffinity", "eppConfig") for part in bound.place.path):
            continue
        texts = [letter * length] * min(bound.most, size // length)
        texts += [letter * (size - length * len(texts))] if len(texts) < bound.most else []
        size -= sum(map(len, texts))
        is_list = "items" in bound.schema
        values[bound.place] = texts if is_list else {f"k{n}": x for n, x in enumerate(texts)}
        if not is_list:
            size -= sum(len(key) for key in values[bound.place])
    return build(CRDS[kind], least(kind), values)


@pytest.mark.parametrize("kind", sorted(CRDS))
def test_spec_total_size(cluster: Any, kind: str) -> None:
    for letter in ("x", "é"):  # of two bytes
        fits = with_size(kind, (SPEC_BYTES - 4096) // len(letter.encode()), letter)
        assert ask(cluster, fits) is None
        refusal = ask(cluster, with_size(kind, (SPEC_BYTES + 1) // len(letter.encode()), letter))
        assert refusal, f"accepted: {letter}"
        assert [field for field, text in refusal.causes if TOO_LONG in text] == ["spec"]


def seconds(request: Callable[[], Any]) -> float:
    """The shortest response time of the API server, to ignore stray pauses."""
    taken = []
    for _try in range(3):
        began = time.monotonic()
        request()
        taken.append(time.monotonic() - began)
    return min(taken)


MAPS = ("spec.labels", "spec.nodeSelector", "spec.resources.limits")


@pytest.mark.parametrize("path", MAPS)
def test_map_cost_like_configmap(cluster: Any, api_server: client.ApiClient, path: str) -> None:
    """The API server itself tracks the manager of each key; our rules do not add to that."""
    (bound,) = (item for item in list_bounds(CRDS["NIMService"]) if str(item.place) == path)
    known = build(CRDS["NIMService"], least("NIMService"), {bound.place: bound.make(FAR)})
    assert find_unnamed(ask(cluster, known), [bound]) == []
    config_map = client.V1ConfigMap(
        metadata={"name": "sizes"}, data=dict.fromkeys(bound.make(FAR), "1")
    )
    core = client.CoreV1Api(api_server)
    longest = seconds(
        lambda: core.create_namespaced_config_map("nimops-admission", config_map, dry_run="All")
    )
    assert seconds(lambda: cluster.create(known)) < 3 * longest + 0.2


IMAGE = {"repository": "a", "tag": "b"}


def containers(count: int) -> list[Manifest]:
    return [{"name": f"c{number}", "image": IMAGE} for number in range(count)]


def claims(count: int) -> list[Manifest]:
    names = [f"r{number}" for number in range(32)]
    return [{"resourceClaimName": f"c{number}", "requests": names} for number in range(count)]


ENV = [{"name": "A", "value": "x" * 2000}]
# By name: kind, rest of the spec, largest accepted value, and field.
PRODUCTS = {
    "env and sidecars": ("NIMService", {"env": ENV}, "sidecarContainers", 63),
    "env and init containers": ("NIMService", {"env": ENV}, "initContainers", 63),
    "proxy and sidecars": (
        "NIMService",
        {"proxy": {"noProxy": "a" * 2000}},
        "sidecarContainers",
        31,
    ),
    "claims and sidecars": ("NIMService", {"draResources": claims(2)}, "sidecarContainers", 30),
    "env of a cache": ("NIMCache", {"env": ENV}, "initContainers", 63),
    "proxy of a cache": ("NIMCache", {"proxy": {"noProxy": "a" * 2000}}, "initContainers", 31),
}


@pytest.mark.parametrize(
    ("kind", "spec", "field", "most"), list(PRODUCTS.values()), ids=list(PRODUCTS.keys())
)
def test_container_size(cluster: Any, kind: str, spec: Manifest, field: str, most: int) -> None:
    def refusal(count: int) -> Refusal | None:
        whole = {**LEAST[kind], **spec, field: containers(count)}
        return ask(cluster, {**least(kind), "spec": whole})

    assert refusal(most) is None
    refused = refusal(most + 1)
    assert refused
    assert [name for name, text in refused.causes if "copies" in text] == [f"spec.{field}"]


def test_picker_unknown_fields(cluster: Any) -> None:
    """The operator checks their size; here, they only must not break a rule."""
    config = {
        "plugins": [{"type": "a", "parameters": {"a": [1, None, "x" * 100_000]}}],
        "schedulingProfiles": [],
        "more": {"a": ["y" * 100_000]},
    }
    picker = {"containerSpec": {"name": "a", "image": IMAGE}, "config": config}
    spec = {**LEAST["NIMService"], "expose": {"router": {"eppConfig": picker}}}
    manifest = {**least("NIMService"), "spec": spec}
    assert ask(cluster, manifest) is None
    pipeline = {**least("NIMPipeline"), "spec": {"services": [{"name": "a", "spec": spec}]}}
    assert ask(cluster, pipeline) is None
