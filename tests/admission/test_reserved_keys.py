# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Keys that ansible-core reserves are refused in every map of every CRD, in spec and status.

The maps are found in the schemas, so new maps are tested automatically.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MESSAGE = "keys that begin with __ansible are reserved for Ansible"
LEAST: dict[str, dict[str, Any]] = {
    kind: spec
    for name in ("nim", "nemo", "gpu")
    for kind, spec in yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text()).items()
}
"""A minimal spec of each kind."""

WITH: dict[str, dict[str, dict[str, Any]]] = {
    # A claim is identified by its name, and only one kind of storage may be set.
    "NIMService": {"spec.storage.pvc": {"storage": {"pvc": {"name": "a"}}}},
}
"""Further required fields of a spec, by kind and start of the path of a map."""

Schema = dict[str, Any]


def walk(schema: Schema, steps: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Path to each map with free keys ("[]" is a list item), and the schemas along the path."""
    if "additionalProperties" in schema:
        yield steps, schema
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, (*steps, name))
    if "items" in schema:
        yield from walk(schema["items"], (*steps, "[]"))


def schemas() -> dict[str, Schema]:
    found = {}
    for path in (ROOT / "config/crd/bases").glob("*.yaml"):
        spec = yaml.safe_load(path.read_text())["spec"]
        found[spec["names"]["kind"]] = spec["versions"][0]["schema"]["openAPIV3Schema"]
    return found


SCHEMAS = schemas()
MAPS = [
    pytest.param(kind, steps, id=f"{kind}-{'.'.join(steps).replace('.[]', '[]')}")
    for kind in sorted(SCHEMAS)
    for steps, _schema in walk(SCHEMAS[kind])
]


def least(schema: Schema) -> Any:
    """The smallest value that a schema accepts."""
    if "default" in schema:
        return schema["default"]
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: least(schema["properties"][name]) for name in schema.get("required", [])}
    return {"array": [], "integer": 1, "boolean": False}.get(schema.get("type", ""), "a")


def put(schema: Schema, present: Any, steps: tuple[str, ...], value: Any) -> Any:
    """Return present with value at the end of steps, and with required fields along the path."""
    if not steps:
        return value
    first, rest = steps[0], steps[1:]
    if first == "[]":
        return [put(schema["items"], least(schema["items"]), rest, value)]
    child = schema["properties"][first]
    below = present[first] if first in present else least(child)
    return {**present, first: put(child, below, rest, value)}


def with_key(kind: str, steps: tuple[str, ...], key: str) -> dict[str, Any]:
    path = ".".join(steps)
    more = (spec for start, spec in WITH.get(kind, {}).items() if path.startswith(start))
    spec = {**LEAST[kind], **next(more, {})}
    manifest = {"kind": kind, "metadata": {"name": "keys"}, "spec": spec}
    return dict(put(SCHEMAS[kind], manifest, steps, {key: "1"}))


@pytest.fixture(scope="module")
def stored(cluster: Any) -> Iterator[Any]:
    """A stored resource of each kind, because a status can only be written to one."""
    manifests = [
        {"kind": kind, "metadata": {"name": "keys"}, "spec": spec} for kind, spec in LEAST.items()
    ]
    for manifest in manifests:
        assert cluster.create(manifest, dry_run=False) is None
    yield cluster
    for manifest in manifests:
        cluster.delete(manifest)


def send(stored: Any, kind: str, steps: tuple[str, ...], key: str) -> Any:
    manifest = with_key(kind, steps, key)
    if steps[0] == "status":
        return stored.patch_status(manifest, manifest["status"])
    return stored.create({**manifest, "metadata": {"name": "new"}})


@pytest.mark.parametrize(("kind", "steps"), MAPS)
def test_reserved_keys_ordinary_key(stored: Any, kind: str, steps: tuple[str, ...]) -> None:
    assert send(stored, kind, steps, "example.com/team") is None


@pytest.mark.parametrize("key", ["__ansible_unsafe", "__ansible_vault", "__ansible_x"])
@pytest.mark.parametrize(("kind", "steps"), MAPS)
def test_reserved_keys_refused(stored: Any, kind: str, steps: tuple[str, ...], key: str) -> None:
    refusal = send(stored, kind, steps, key)
    assert refusal, "accepted"
    assert MESSAGE in refusal.message
    path = ".".join(steps).replace(".[]", "[]")
    assert path in refusal.message or path.replace("[]", "[0]") in refusal.message


def test_reserved_keys_cases_exist() -> None:
    assert {kind: sum(case.values[0] == kind for case in MAPS) for kind in SCHEMAS} == {
        "NIMBuild": 7,
        "NemoCustomizer": 43,
        "NemoDatastore": 28,
        "NemoEntitystore": 27,
        "NemoEvaluator": 27,
        "NemoGuardrail": 28,
        "NIMCache": 5,
        "NIMPipeline": 29,
        "NIMService": 28,
        "ClusterPolicy": 40,
        "NVIDIADriver": 5,
    }
