#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write plugins/module_utils/_schemas/*.json, with which the verbs validate, from our CRDs.

Parts that only users or the API server need (descriptions, CEL, merge keys) are omitted.
--check writes nothing and exits 1 if a file would change.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from generated_files import load_yaml, make_parser, update

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
    options = make_parser(__doc__ or "").parse_args()
    crds = [load_yaml(file.read_text()) for file in sorted(BASES.glob("*.yaml"))]
    files = {SCHEMAS / name: text for name, text in generate(crds).items()}
    return update(files, check=options.check)


if __name__ == "__main__":
    sys.exit(main())
