# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The schemas that the commands validate with."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "hack/generate_schemas.py"
SCHEMAS = ROOT / "plugins/module_utils/_schemas"


def test_schemas_equal_crds() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_schema_per_kind() -> None:
    kinds = {
        yaml.safe_load(file.read_text())["spec"]["names"]["singular"]
        for file in (ROOT / "config/crd/bases").glob("*.yaml")
    }
    assert {file.stem for file in SCHEMAS.glob("*.json")} == kinds


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.stem)
def test_schemas_minimal(file: Path) -> None:
    def words(schema: Any) -> set[str]:
        found = set(schema) - {"properties"}
        for child in schema.get("properties", {}).values():
            found |= words(child)
        for key in {"items", "additionalProperties"} & set(schema):
            found |= words(schema[key])
        return found

    known = words(json.loads(file.read_text()))
    assert not known & {"description", "format", "x-kubernetes-validations"}
    assert {"type", "required", "items"} <= known


def patterns_of(schema: Any) -> set[str]:
    found = {schema["pattern"]} if isinstance(schema.get("pattern"), str) else set()
    children = [*schema.get("properties", {}).values()]
    children += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    return found.union(*map(patterns_of, children))


def test_simplified_patterns_equivalent(
    load_module: Callable[[Path], ModuleType],
) -> None:
    for old, new in load_module(SCRIPT).LINEAR.items():
        pairs = re.compile(old), re.compile(new)
        for length in range(7):
            for characters in itertools.product("a1-.xn", repeat=length):
                text = "".join(characters)
                assert len({bool(pattern.search(text)) for pattern in pairs}) == 1, text


HARD = """
import re, sys
for pattern in sys.argv[1:]:
    for part in ("a", "0", "a-", "a.", "aa.", "0Ki", "0m", "a/", "A_", "http://"):
        re.search(pattern, part * 126 + "!")
"""


def test_patterns_without_backtracking() -> None:
    found = set().union(*(patterns_of(json.loads(x.read_text())) for x in SCHEMAS.glob("*.json")))
    assert len(found) > 5
    subprocess.run([sys.executable, "-c", HARD, *sorted(found)], check=True, timeout=60)
