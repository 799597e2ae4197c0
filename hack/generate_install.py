#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the objects of nim_install, plugins/module_utils/_commands/install/data/, from config/.

objects.json has the objects of all installations that can be chosen, each built by kustomize: the
object, the installations that have it, and whether it is part of the operator or shared, like
policies and roles for users. An installation is named by its components, or "namespaced", joined
by "+". Each CustomResourceDefinition has a file of its own.

--check writes nothing and exits 1 if a file would change. This needs kubectl, but no cluster.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from generated_files import load_yaml, make_parser, update

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "config"
MANIFESTS = ROOT / "plugins/module_utils/_commands/install/data"
OBJECTS = "objects.json"
KIND = "CustomResourceDefinition"
NAMESPACED = "namespaced"
WITHOUT = "without-"
FOR_USERS = re.compile(r"-(admin|editor|viewer)-role")
CLUSTER_SCOPED = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
"""Kinds to which kustomize gives the namespace, because it does not know that they have none."""

Json = dict[str, Any]


def installations() -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name of each installation, its overlay and its further components."""
    names = sorted(path.name for path in (CONFIG / "components").iterdir())
    included = [name for name in names if f"{WITHOUT}{name}" in names]
    others = [name for name in names if name not in included and not name.startswith(WITHOUT)]
    overlays = {"": "default", NAMESPACED: f"overlays/{NAMESPACED}"}
    overlays |= {name: f"overlays/{name}" for name in others}
    for first, overlay in overlays.items():
        for count in range(len(included) + 1):
            for kept in itertools.combinations(included, count):
                left_out = [f"{WITHOUT}{name}" for name in included if name not in kept]
                yield "+".join(sorted(filter(None, (first, *kept)))), overlay, left_out


@functools.cache
def parse(text: str) -> Json:
    """Return the object of a document, parsed once: all overlays have the same CRDs."""
    item: Json = load_yaml(text)
    return item


def build(overlay: str, components: list[str]) -> list[Json]:
    """Return the objects of an overlay with components."""
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        content = {
            "resources": [f"../../config/{overlay}"],
            "components": [f"../../config/components/{name}" for name in components],
        }
        (Path(folder) / "kustomization.yaml").write_text(yaml.safe_dump(content))
        command = ["kubectl", "kustomize", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"config/{overlay} does not build:\n{done.stderr.strip()}")
    built = [parse(text) for text in done.stdout.split("\n---\n")]
    for item in built:
        if item["kind"] in CLUSTER_SCOPED:
            item["metadata"].pop("namespace", None)
    return built


def is_shared(item: Json) -> bool:
    """Return whether an object is also installed without the operator."""
    part = item["metadata"].get("labels", {}).get("app.kubernetes.io/component")
    return part == "admission" or bool(FOR_USERS.search(item["metadata"]["name"]))


def generate() -> dict[str, str]:
    """Map file names to contents."""
    definitions: dict[str, Json] = {}
    found: dict[str, tuple[Json, list[str]]] = {}
    where: dict[str, list[str]] = {}
    for name, overlay, components in installations():
        for item in build(overlay, components):
            if item["kind"] == KIND:
                definition = item["metadata"]["name"]
                definitions[definition] = item
                where.setdefault(definition, []).append(name)
            else:
                text = json.dumps([item["kind"], item["metadata"]["name"], item], sort_keys=True)
                found.setdefault(text, (item, []))[1].append(name)
    objects = [
        {"installations": sorted(names), "manifest": item, "shared": is_shared(item)}
        for _text, (item, names) in sorted(found.items())
    ]
    listed = {name: sorted(where[name]) for name in sorted(where)}
    content = {"definitions": listed, "objects": objects}
    return {OBJECTS: f"{json.dumps(content, sort_keys=True, indent=1)}\n"} | {
        f"{name}.json": f"{json.dumps(item, sort_keys=True)}\n"
        for name, item in definitions.items()
    }


def main() -> int:
    options = make_parser(__doc__ or "").parse_args()
    files = {MANIFESTS / name: text for name, text in generate().items()}
    return update(files, check=options.check, present=MANIFESTS.glob("*"))


if __name__ == "__main__":
    sys.exit(main())
