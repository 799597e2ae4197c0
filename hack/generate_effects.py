#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write hack/site/effects/*.json: what each field of a spec becomes, for the pages of kinds.

Each field gets a value that is found nowhere else, in samples of its kind. The objects that are
rendered with it are compared with those without it: the places that have the value, or else those
that differ, are what the field becomes.

--check writes nothing and exits 1 if a file would change. Kinds can be named: nimcache nimbuild.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate_in,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import (
    STALLED,
    find_condition,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import assumed_objects
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    NOT_FOUND,
)
from generated_files import make_parser, update

Json = dict[str, Any]
Object = tuple[str, str]
Objects = dict[Object, Json]

ROOT = Path(__file__).resolve().parent.parent
BASES = ROOT / "config/crd/bases"
SAMPLES = ROOT / "config/samples"
FACTS = (ROOT / "tests/golden/facts.yaml", SAMPLES / "nemo-prerequisites.yaml")
READY = ROOT / "hack/site/facts.yaml"
POLICY: Json = {
    "apiVersion": "nvidia.com/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "cluster-policy", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"driver": {"useNvidiaDriverCRD": True}},
}
"""The answers of the cluster that an NVIDIADriver needs."""
PATH: Json = {"path": "/", "pathType": "Prefix"}
OTEL: Json = {"enabled": True, "exporterOtlpEndpoint": "http://otel:4317"}
VARIANTS: tuple[Json, ...] = (
    {"expose": {"router": {"hostDomainName": "a.com", "ingress": {"ingressClass": "a"}}}},
    {
        "expose": {
            "router": {
                "hostDomainName": "a.com",
                "gateway": {"name": "a", "namespace": "b", "httpRoutesEnabled": True},
            }
        }
    },
    {"expose": {"ingress": {"enabled": True, "spec": {"host": "a.com", "paths": [PATH]}}}},
    {"scale": {"enabled": True, "hpa": {"minReplicas": 1, "maxReplicas": 4}}},
    {"metrics": {"enabled": True, "serviceMonitor": {"interval": "30s"}}},
    {"otel": OTEL},
    {"configStore": {"pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}}},
    {"nimEndpoint": {"baseURL": "http://a:8000/v1", "apiKeySecret": "a", "apiKeyKey": "b"}},
)
"""Fields that some samples lack, and without which others change nothing."""
OUT = ROOT / "hack/site/effects"
MORE = OUT.with_name("samples.yaml")

sys.path.insert(0, str(ROOT / "hack/site"))

from site_reference import is_leaf, list_fields  # noqa: E402  # found by the path above

NAMESPACE = "nim"
MARK = "zq17"
NUMBERS = (4717, 17, 3, 2, 1, 0)
TEXTS = (
    *(MARK, f"http://{MARK}", f"https://{MARK}.example.com", f"{MARK}:1", "17m", "47Gi"),
    *("0 3 * * *", f"{MARK}=a", "4717", f"/{MARK}", f"{MARK}.example.com", "10.47.17.0/24"),
)
_MAX_BASES = 3
_MAX_VALUES = 3
_MAX_PLACES = 4
PASSED_ON = "spec.services[].spec."
"""Fields of a NIMPipeline that its NIMServices have unchanged."""
INVALID = (NimError, ValueError, KeyError, TypeError, AttributeError)
"""Errors of rendering a resource that the CRD would refuse."""
_INDEX = re.compile(r"\[\d+\]")
_HASH = re.compile(r"nimops\.nim/|last-applied|/hash$")
_SEPARATOR = re.compile(r"[./]")


class Prober:
    """Renders variants of the samples of a kind. ``definition``: its CustomResourceDefinition."""

    def __init__(self, definition: Json) -> None:
        names = definition["spec"]["names"]
        [version] = [item for item in definition["spec"]["versions"] if item["storage"]]
        self.kind = names["kind"]
        self.schema: Json = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        self._known: dict[str, Objects | Exception] = {}
        given = [item for item in read_samples() if item["kind"] == self.kind]
        more = [
            {**given[0], "spec": given[0]["spec"] | variant}
            for variant in VARIANTS
            if set(variant) <= set(self.schema["properties"])
        ]
        self.samples = [*given, *(more if len(given) == 1 else [])]
        self._render(given[0])  # which must be valid, unlike the variants

    def list_leaves(self) -> list[str]:
        """The fields of the spec that have no documented field below them."""
        paths = [path for path, *_rest in list_fields(self.schema, "spec")]
        return [path for path in paths if is_leaf(path, paths)]

    def find_effects(self, path: str) -> list[str]:
        """The places that a field appears in, or changes; none if it changes nothing."""
        if path.startswith(PASSED_ON):
            return [f"NIMService {path.removeprefix(PASSED_ON[:-5])}"]
        steps = list(split_path(path.removeprefix("spec.")))
        values = list(values_of(schema_at(self.schema, steps), MARK))
        best: list[str] = []
        for sample in self._order(steps)[:_MAX_BASES]:
            tried = 0
            for value in values:
                found, is_exact = self._try(sample, steps, value)
                if is_exact:
                    return found or []
                tried += found is not None
                best = best or found or []
                if tried == _MAX_VALUES:
                    break
            if best:
                break
        return best

    def _try(self, sample: Json, steps: list[str], value: Any) -> tuple[list[str] | None, bool]:
        """Compare a sample with and without a value; None if the value is refused."""
        with_it, without = (copy.deepcopy(sample) for _number in range(2))
        put(with_it["spec"], self.schema, steps, value)
        put(without["spec"], self.schema, steps, None)
        for before in (without, sample):
            with contextlib.suppress(*INVALID):
                return compare(self._render(before), self._render(with_it), value)
        return None, False

    def _render(self, resource: Json) -> Objects:
        """The objects of a resource that has often been rendered before."""
        key = json.dumps(resource, sort_keys=True)
        if key not in self._known:
            try:
                self._known[key] = render(resource)
            except INVALID as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, Exception):
            raise found
        return found

    def _order(self, steps: list[str]) -> list[Json]:
        """The samples, those first that have most of the parents of a field."""
        return sorted(self.samples, key=lambda sample: -depth_of(sample["spec"], steps))


class Loader(yaml.CSafeLoader):
    """Reads times as texts."""


Loader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if not rule[0].endswith(":timestamp")]
    for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_objects(path: Path) -> list[Json]:
    """The objects in a file, those of lists as well."""
    found = yaml.load_all(path.read_text(), Loader)
    return [inner for item in found if item for inner in item.get("items", [item])]


@functools.cache
def read_samples() -> list[Json]:
    """All samples, and more for fields that no sample has."""
    files = sorted(SAMPLES.glob("*_*.yaml"))
    found = [item for file in (*files, MORE) for item in read_objects(file)]
    for item in found:
        item["metadata"].setdefault("namespace", NAMESPACE)
    return [item for item in found if item["apiVersion"].partition("/")[0].endswith("nvidia.com")]


class Cluster(Facts):
    """The cluster of the samples; images of other models have the native layout."""

    def find_protocol(self, image: str, _namespace: str, _pull_secrets: Iterable[str]) -> str:
        return "legacy" if "/meta/" in image else "native"

    def get_log(self, _namespace: str, _pod: str, _container: str, _lines: int = 0) -> str:
        return NOT_FOUND


@functools.cache
def make_facts(*, has_caches: bool) -> Facts:
    files = (*FACTS, READY) if has_caches else FACTS
    known = [item for file in files for item in read_objects(file)]
    return Cluster(known, [], assumed_objects(), NAMESPACE)


class Simulated(SimulatedCluster):
    """A cluster in which pods run at once. ``made``: each object that was written, at its last."""

    def __init__(self, kind: str) -> None:
        super().__init__(make_facts(has_caches=kind != "NIMCache").ask)
        self.made: Objects = {}

    def put(self, manifest: Json) -> None:
        """Store an object."""
        if manifest["kind"] == "Pod":
            names = [item["name"] for item in manifest["spec"]["containers"]]
            states = [{"name": name, "ready": True, "state": {"running": {}}} for name in names]
            manifest = {**manifest, "status": {"phase": "Running", "containerStatuses": states}}
        super().put(manifest)
        self.made[manifest["kind"], manifest["metadata"]["name"]] = manifest


def render(resource: Json) -> Objects:
    """The objects of a resource; NimError if it cannot be served."""
    cluster = Simulated(resource["kind"])
    others = [POLICY] if resource["kind"] == "NVIDIADriver" else []
    simulated = simulate_in(cluster, [*others, resource])
    mine = (resource["kind"], resource["metadata"]["name"])
    for key, texts in simulated.problems.items():
        if (key.kind, key.name) == mine:
            raise NimError("; ".join(texts))
    if stalled := find_condition(cluster.made[mine].get("status", {}).get("conditions"), STALLED):
        raise NimError(stalled["message"])
    has_names = resource["kind"] == "ClusterPolicy"  # of others, they depend on the resource's
    return {
        (f"{key[0]} {key[1]}" if has_names else key[0], key[1]): {
            name: item[name] for name in item if name != "status"
        }
        for key, item in cluster.made.items()
        if key != mine
    }


# Values


def split_path(path: str) -> Iterator[str]:
    """Yield the names of a path; [] is an item of a list, * a value of a map."""
    for name in path.split("."):
        plain = name.rstrip("[]")
        yield plain
        yield from ["[]"] * name.count("[]")


def schema_at(schema: Json, steps: list[str]) -> Json:
    """The schema of a field."""
    for step in steps:
        schema = inner_of(schema, step)
    return schema


def inner_of(schema: Json, step: str) -> Json:
    if step == "[]":
        return schema["items"]  # type: ignore[no-any-return]
    if step == "*":
        return schema["additionalProperties"]  # type: ignore[no-any-return]
    return schema["properties"][step]  # type: ignore[no-any-return]


def values_of(schema: Json, mark: str) -> Iterator[Any]:
    """Yield valid values, first those that are found again."""
    if schema.get("x-kubernetes-int-or-string"):
        yield from ("4717", 17) if "pattern" not in schema else ("47Gi", "17", "1700m")
    elif "enum" in schema:
        yield from reversed(schema["enum"])
    elif "items" in schema:
        yield from ([value] for value in values_of(schema["items"], mark))
    elif isinstance(schema.get("additionalProperties"), dict):
        yield from ({mark: value} for value in values_of(schema["additionalProperties"], mark))
    elif schema.get("type", "object") == "object":
        yield from objects_of(schema, mark)
    else:
        yield from scalars_of(schema, mark)


def scalars_of(schema: Json, mark: str) -> Iterator[Any]:
    if schema["type"] == "boolean":
        given = bool(schema.get("default", False))
        yield from (not given, given)
    elif schema["type"] == "string":
        for text in (mark, *TEXTS):
            fits = re.search(schema["pattern"], text) if "pattern" in schema else True
            if fits and schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 4096):
                yield text
    else:
        low, high = schema.get("minimum", 0), schema.get("maximum", 2**31)
        yield from (number for number in (*NUMBERS, high, low) if low <= number <= high)


def objects_of(schema: Json, mark: str) -> Iterator[Json]:
    """Yield objects: with the required fields, and with each other field in addition."""
    least: Json = {
        name: next(iter(values_of(schema.get("properties", {}).get(name, {}), mark)), mark)
        for name in schema.get("required", ())
    }
    if least:
        yield least
    for name, node in schema.get("properties", {}).items():
        if name not in least and (value := next(iter(values_of(node, mark)), None)) is not None:
            yield {**least, name: value}
    if not schema.get("properties"):
        yield {mark: mark}


def depth_of(value: Any, steps: list[str]) -> int:
    """How many steps of a path exist."""
    for number, step in enumerate(steps):
        if step in ("[]", "*"):
            items = value if isinstance(value, list) else list((value or {}).values())
            if not items:
                return number
            value = items[0]
        elif not isinstance(value, dict) or step not in value:
            return number
        else:
            value = value[step]
    return len(steps)


def put(value: Any, schema: Json, steps: list[str], new: Any) -> None:
    """Set a field; parents that are missing get their required fields. None: leave the field out.

    A required field is not left out, but keeps a value.
    """
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        inner = inner_of(schema, step)
        key: Any = 0 if step == "[]" else MARK if step == "*" else step
        is_missing = not value if step == "[]" else step == "*" or key not in value
        if is_last and new is None:
            if step in schema.get("required", ()):
                value.setdefault(key, next(iter(values_of(inner, "other"))))
            elif step not in ("[]", "*"):
                value.pop(key, None)
            return
        if is_last or is_missing:
            given = new if is_last else start_of(inner, steps[number + 1])
            if step == "[]" and not value:
                value.append(given)
            else:
                value[key] = given
        value, schema = value[key], inner


def start_of(schema: Json, step: str) -> Any:
    """A value for the parent of a field."""
    if "items" in schema:
        return []
    required = schema.get("required", ())
    return {
        name: next(iter(values_of(schema.get("properties", {}).get(name, {}), "other")), "other")
        for name in required
        if name != step
    }


# Comparison


def compare(before: Objects, after: Objects, value: Any) -> tuple[list[str], bool]:
    """The places that have a value only now, or else those that differ; whether they have it."""
    marks = list(marks_of(value))
    was, now = places(before), places(after)
    known = set(was)
    exact = [place for place in now if place[2] in marks or has_mark(place[2])]
    exact = [place for place in exact if place not in known]
    if exact and marks:
        inside = {shape_of(path) for path, _text in leaves_of(value, "")} - {""}
        return shorten([(key, cut(path, inside)) for key, path, _text in exact]), True
    added = [f"creates the {kind}" for kind, name in after if (kind, name) not in before]
    removed = [f"removes the {kind}" for kind, name in before if (kind, name) not in after]
    old = {(key, path): text for key, path, text in was}
    new = {(key, path): text for key, path, text in now}
    changed = [
        (key, path)
        for key, path in {**old, **new}
        if old.get((key, path)) != new.get((key, path)) and key in before and key in after
    ]
    found = [*dict.fromkeys(added), *dict.fromkeys(removed)]
    return [*found, *shorten(changed)][:_MAX_PLACES], False


def shape_of(path: str) -> str:
    return re.sub(r"\[[^]]*\]", "[]", path)


def cut(path: str, inside: set[str]) -> str:
    """A place without the part of its path that is inside the value of the field."""
    for tail in inside:
        if shape_of(path).endswith(tail):
            parts = re.findall(r"\.[^.\[]+|\[[^]]*\]", path)
            kept = len(parts) - len(re.findall(r"\.[^.\[]+|\[[^]]*\]", tail))
            return "".join(parts[:kept])
    return path


def marks_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from marks_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from marks_of(inner)
    elif value not in (True, False, 0, 1, 2, 3, None):
        yield str(value)


def has_mark(text: str) -> bool:
    return MARK in text or "4717" in text


def places(objects: Objects) -> list[tuple[Object, str, str]]:
    """Each value in objects, as text."""
    return [
        (key, path, text) for key, item in objects.items() for path, text in leaves_of(item, "")
    ]


@functools.cache
def shown(name: str) -> tuple[str, bool]:
    """A name as a part of a path, and whether its value counts."""
    is_special = _SEPARATOR.search(name) or MARK in name
    return f"[{name}]" if is_special else f".{name}", not _HASH.search(name)


def leaves_of(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            part, counts = shown(name)
            if counts:
                yield from leaves_of(inner, f"{path}{part}")
            if MARK in name:
                yield f"{path}.*", name
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            named = inner.get("name") if isinstance(inner, dict) else None
            own = isinstance(named, str) and not has_mark(named) and len(value) > 1
            yield from leaves_of(inner, f"{path}[{named}]" if own else f"{path}[{number}]")
    else:
        yield path, str(value)


def shorten(found: list[tuple[Object, str]]) -> list[str]:
    """Places as text, each once; those that have a common parent as that, if there are many."""
    texts = dict.fromkeys(write_place(key, path) for key, path in found)
    while len(texts) > _MAX_PLACES:
        longest = max(text.count(".") for text in texts)
        if longest <= 1:
            break
        texts = dict.fromkeys(
            text.rpartition(".")[0] if text.count(".") == longest else text for text in texts
        )
    return list(texts)[:_MAX_PLACES]


def write_place(key: Object, path: str) -> str:
    plain = _INDEX.sub("[]", path).lstrip(".").replace(f"[{MARK}]", "").replace("[other]", "[]")
    return f"{key[0]} {plain}"


def write_effects(prober: Prober) -> str:
    """The file of a kind: field → places."""
    found = {}
    for path in prober.list_leaves():
        if effects := prober.find_effects(path):
            found[path] = effects
    return json.dumps(found, indent=1) + "\n"


def main() -> int:
    """Write or check the files."""
    parser = make_parser(__doc__ or "")
    parser.add_argument("kinds", nargs="*")
    options = parser.parse_args()
    files = {}
    for path in sorted(BASES.glob("*_*.yaml")):
        [definition] = read_objects(path)
        name = definition["spec"]["names"]["singular"]
        if not options.kinds or name in options.kinds:
            files[OUT / f"{name}.json"] = write_effects(Prober(definition))
    return update(files, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
