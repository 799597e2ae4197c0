# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Each spec is bounded in all its parts and as a whole, far above realistic sizes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / "shared"
BASES = sorted((ROOT / "config/crd/bases").glob("*_*.yaml"))
OWN = ("config/samples", "tests/golden", "molecule", "docs")
OTHERS = ("conformance", "reports/manifests")
SPEC_BYTES = 96 << 10
FULL = 256 << 10
"""Bytes of a whole resource as JSON above which the operator refuses it."""

Schema = dict[str, Any]
Spec = dict[str, Any]


def read_spec(path: Path) -> tuple[str, Schema]:
    """Kind and the schema of its spec."""
    crd = yaml.safe_load(path.read_text())["spec"]
    (version,) = crd["versions"]
    return crd["names"]["kind"], version["schema"]["openAPIV3Schema"]["properties"]["spec"]


SPECS = dict(map(read_spec, BASES))


def largest(schema: Schema) -> float:
    """Bytes of the largest value as JSON, with four bytes per character; infinite if unbounded."""
    if "enum" in schema:
        return max(len(json.dumps(value)) for value in schema["enum"])
    if "items" in schema:
        return 2 + schema.get("maxItems", math.inf) * (1 + largest(schema["items"]))
    if "additionalProperties" in schema:
        # A key may be as long as the whole spec, which bounds it.
        entry = 4 * SPEC_BYTES + largest(schema["additionalProperties"])
        return 2 + schema.get("maxProperties", math.inf) * entry
    if "properties" in schema:
        return 2 + sum(4 + len(key) + largest(below) for key, below in schema["properties"].items())
    if schema.get("type") == "string" or "x-kubernetes-int-or-string" in schema:
        return 2 + 4 * float(schema.get("maxLength", math.inf))
    return 24


@pytest.mark.parametrize("kind", sorted(SPECS))
def test_bounds_every_part(kind: str) -> None:
    assert largest(SPECS[kind]) < math.inf


@pytest.mark.parametrize("kind", sorted(SPECS))
def test_worst_size_per_kind(generator: ModuleType, kind: str) -> None:
    """Bytes stored besides the spec: kubectl's copy in an annotation, and managedFields."""
    schema = SPECS[kind]
    rules = [rule["rule"] for rule in schema["x-kubernetes-validations"]]
    (whole,) = (rule for rule in rules if "%x" in rule and "has(self.env)" not in rule)
    most = int(whole.rpartition(" <= ")[2])
    assert most // 2 == generator.SPEC_BYTES == SPEC_BYTES
    worst = min(most / 2, largest(schema))
    # The copy escapes each quotation mark; a map of short entries has one per four bytes.
    assert worst + worst * 1.25 + worst / 4 < FULL


def test_bounds_missing_part() -> None:
    for hole in (
        {"type": "string"},
        {"items": {"type": "boolean"}},
        {"additionalProperties": {"type": "integer"}},
        {"x-kubernetes-int-or-string": True},
    ):
        bounded = {"type": "string", "maxLength": 3}
        assert (
            largest({"properties": {"a": bounded, "b": {"items": hole, "maxItems": 1}}}) == math.inf
        )
    assert largest({"properties": {"a": bounded}}) < math.inf


def resources(found: Any) -> Iterator[tuple[str, Spec]]:
    """Kind and spec of each resource of ours in a document."""
    if isinstance(found, dict):
        if found.get("kind") in SPECS and isinstance(found.get("spec"), dict):
            yield found["kind"], found["spec"]
        for value in found.values():
            yield from resources(value)
    elif isinstance(found, list):
        for value in found:
            yield from resources(value)


def documents(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.rglob("*")):
        text = (
            path.read_text(errors="replace")
            if path.suffix in (".yaml", ".yml", ".json", ".md")
            else ""
        )
        texts = re.findall(r"```yaml\n(.*?)```", text, re.S) if path.suffix == ".md" else [text]
        for part in filter(None, texts):
            if "apiVersion" in part:
                try:
                    yield from yaml.load_all(
                        part, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
                    )
                except yaml.YAMLError:  # templates, and intentionally broken files
                    continue


def sizes(schema: Schema, value: Any, path: str = "spec") -> Iterator[tuple[str, float]]:
    """Path of each list, map and text, and the used fraction of its bound."""
    if isinstance(value, dict):
        if "additionalProperties" in schema:
            yield path, len(value) / schema["maxProperties"]
        for key, item in value.items():
            below = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            if below:
                yield from sizes(below, item, f"{path}.{key}")
    elif isinstance(value, list) and "items" in schema:
        yield path, len(value) / schema["maxItems"]
        for item in value:
            yield from sizes(schema["items"], item, f"{path}[]")
    elif isinstance(value, str) and "maxLength" in schema:
        yield path, len(value) / schema["maxLength"]


# Bounds of names are those of Kubernetes; other bounds come from Kubernetes and the reference.
TIGHT = re.compile(
    r"hostDomainName|\.size$|ecret|[nN]ame$|draResources|backendRef|Key$|resources\."
)


def check(folders: list[Path]) -> int:
    count = 0
    for folder in folders:
        for document in documents(folder):
            for kind, spec in resources(document):
                count += 1
                assert len(json.dumps(spec)) < SPEC_BYTES / 10, folder
                for path, part in sizes(SPECS[kind], spec):
                    assert part <= (1 if TIGHT.search(path) else 0.25), (kind, path)
    return count


def test_bounds_own_resources() -> None:
    assert check([ROOT / folder for folder in OWN]) > 50


@pytest.mark.parametrize("name", OTHERS)
def test_bounds_foreign_resources(name: str) -> None:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"there are no resources of others at ../shared/{name}")
    assert check([folder]) > 20


def test_bounds_in_reference_docs(generator: ModuleType) -> None:
    page = (ROOT / "docs/reference/admission.md").read_text()
    rows = dict(re.findall(r"^\| ([^|]+) \| ([\d,]+) ", page, re.M))
    numbers = {name: int(value.replace(",", "")) for name, value in rows.items()}
    assert {
        "texts": numbers["a list of strings"],
        "items": numbers["another list"],
        "entries": numbers["a map"],
        "text": numbers["a string"],
        "amount": numbers["a quantity, or a number or string"],
    } == generator.SIZES
    assert numbers["the spec as a whole"] == generator.SPEC_BYTES
