#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write plugins/module_utils/_schemas/*.json, with which the verbs validate, from our CRDs.

Parts that only users or the API server need (descriptions, CEL, merge keys) are omitted.
--check writes nothing and exits 1 if a file would change.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
BASES = ROOT / "config/crd/bases"
SCHEMAS = ROOT / "plugins/module_utils/_schemas"
KEPT = {
    *("type", "required", "default", "enum", "pattern", "minimum", "maximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "maxProperties"),
    *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
}
# Patterns on which Python's backtracking engine can run forever, each with a linear equivalent.
# The API server's engine does not backtrack.
LINEAR = {
    r"^(([a-z0-9][a-z0-9\-]*[a-z0-9])|[a-z0-9]+\.)*([a-z]+|xn\-\-[a-z0-9]+)\.?$": (
        r"^([a-z0-9]([a-z0-9]?|[a-z0-9-]*[a-z0-9][a-z0-9])\.)*"
        r"([a-z0-9][a-z0-9-]*[a-z0-9])?([a-z]+|xn--[a-z0-9]+)\.?$"
    ),
}


def shorten(schema: Json) -> Json:
    """Return the parts of the schema that are checked without a cluster."""
    short = {key: value for key, value in schema.items() if key in KEPT}
    if "pattern" in short:
        short["pattern"] = LINEAR.get(short["pattern"], short["pattern"])
    for key in ("items", "additionalProperties"):
        if key in schema:
            short[key] = shorten(schema[key])
    if "properties" in schema:
        short["properties"] = {name: shorten(child) for name, child in schema["properties"].items()}
    return short


def generate(crds: list[Json]) -> dict[str, str]:
    """Map file names to contents, for these CustomResourceDefinitions."""
    files = {}
    for crd in crds:
        kind = crd["spec"]["names"]["kind"]
        (version,) = crd["spec"]["versions"]
        schema = shorten(version["schema"]["openAPIV3Schema"])
        # The API server validated the status when it was written.
        schema["properties"]["status"] = {"type": "object"}
        files[f"{kind.lower()}.json"] = f"{json.dumps(schema, sort_keys=True)}\n"
    return files


def main() -> int:
    parser = argparse.ArgumentParser(description="Generate the schemas of the verbs.")
    parser.add_argument("--check", action="store_true", help="exit 1 when a file would change")
    options = parser.parse_args()
    files = generate([yaml.safe_load(file.read_text()) for file in sorted(BASES.glob("*.yaml"))])
    stale = [
        name
        for name, text in files.items()
        if not (SCHEMAS / name).is_file() or (SCHEMAS / name).read_text() != text
    ]
    if options.check:
        for name in stale:
            print(f"{name} differs from the CRDs: run make generate", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (SCHEMAS / name).write_text(files[name])
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
