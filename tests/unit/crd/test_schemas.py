# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The schemas that the verbs check with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "hack/generate_schemas.py"
SCHEMAS = ROOT / "plugins/module_utils/_schemas"


def test_they_are_what_the_crds_say() -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_each_kind_has_one() -> None:
    kinds = {
        yaml.safe_load(file.read_text())["spec"]["names"]["singular"]
        for file in (ROOT / "config/crd/bases").glob("*.yaml")
    }
    assert {file.stem for file in SCHEMAS.glob("*.json")} == kinds


@pytest.mark.parametrize("file", sorted(SCHEMAS.glob("*.json")), ids=lambda file: file.stem)
def test_they_say_no_more_than_is_checked(file: Path) -> None:
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
