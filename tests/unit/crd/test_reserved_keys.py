# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Each map with free keys is checked for keys that ansible-core reserves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
BASES = sorted((ROOT / "config/crd/bases").glob("*.yaml"))
MESSAGE = "keys that begin with __ansible are reserved for Ansible"
UNKNOWN = {
    f"{spec}.expose.router.eppConfig.{place}"
    for spec in ("spec", "spec.services[].spec")
    for place in ("config", "config.plugins[].parameters")
}
COMPONENTS = re.compile(r"spec\.\w+\.extraVolumes\[\]")
"""Fields that preserve unknown fields, which no rule can check; the operator itself checks them."""

Schema = dict[str, Any]


def walk(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}".lstrip("."))
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if key in schema:
            yield from walk(schema[key], f"{path}{mark}")


def load(path: Path) -> list[tuple[str, Schema]]:
    version = yaml.safe_load(path.read_text())["spec"]["versions"][0]
    return list(walk(version["schema"]["openAPIV3Schema"]))


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_every_map_checked_once(path: Path) -> None:
    nodes = load(path)
    maps = sorted(at for at, schema in nodes if "additionalProperties" in schema)
    by_crd = [
        at
        for at, schema in nodes
        for rule in schema.get("x-kubernetes-validations", [])
        if rule["message"] == MESSAGE
    ]
    assert maps
    assert sorted(by_crd) == maps


@pytest.mark.parametrize("path", BASES, ids=lambda path: path.stem)
def test_unchecked_maps_known(path: Path) -> None:
    nodes = load(path)
    keeps = {at for at, schema in nodes if "x-kubernetes-preserve-unknown-fields" in schema}
    assert {at for at in keeps if not COMPONENTS.fullmatch(at)} <= UNKNOWN
