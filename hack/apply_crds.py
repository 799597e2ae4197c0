#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Apply the CustomResourceDefinitions among the manifests on stdin to the cluster of $KUBECONFIG.

Before that, compare each with the one of the same name in the cluster: if it is another project's,
or of a later release, print what would be lost, and exit 1 (--replace: do not exit). nim_install
compares in the same way. Those that the cluster serves unchanged are not applied: an API server
takes two seconds of CPU time to validate ours, also if nothing changes.

Exit code 2: kubectl failed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import yaml
from generated_files import LOADER

ROOT = Path(__file__).resolve().parent.parent
KIND = "CustomResourceDefinition"


def load_compare() -> Any:
    """Import `compare_definition` from this checkout, not from an installed collection."""
    sys.dont_write_bytecode = True
    package = types.ModuleType("nimops_utils")
    package.__path__ = [str(ROOT / "plugins/module_utils")]
    sys.modules["nimops_utils"] = package
    module = importlib.import_module("nimops_utils._commands.install.definitions")
    return module.compare_definition


def read_live(names: list[str]) -> dict[str, Any]:
    """Return the definitions with these names that the cluster has, by name."""
    command = ["kubectl", "get", KIND, *names, "--ignore-not-found", "--output=json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout or "{}")
    items = found.get("items", [found] if found else [])
    return {item["metadata"]["name"]: item for item in items}


def is_served(live: dict[str, Any] | None, ours: dict[str, Any]) -> bool:
    """Whether the cluster serves this definition, so that applying it changes nothing."""
    if live is None or "deletionTimestamp" in live["metadata"]:
        return False
    conditions = live.get("status", {}).get("conditions", [])
    if not any(item["type"] == "Established" and item["status"] == "True" for item in conditions):
        return False
    for field in ("labels", "annotations"):
        wanted = ours["metadata"].get(field) or {}
        if not wanted.items() <= (live["metadata"].get(field) or {}).items():
            return False
    # The API server sets defaults in all of the spec but its versions.
    have, want = live["spec"], ours["spec"]
    if not want["names"].items() <= have["names"].items():
        return False
    return all(have.get(field) == value for field, value in want.items() if field != "names")


def apply(definitions: list[Any]) -> None:
    """Apply definitions, and wait until the cluster serves them."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions})
    for command in (
        ["apply", "--server-side", "--force-conflicts"],
        ["wait", "--for=condition=Established", "--timeout=60s"],
    ):
        subprocess.run(["kubectl", *command, "--filename=-"], input=text, text=True, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Apply the CRDs among manifests.")
    parser.add_argument("--replace", action="store_true", help="replace those of others")
    options = parser.parse_args()
    ours = [item for item in yaml.load_all(sys.stdin, LOADER) if item and item["kind"] == KIND]
    try:
        live = read_live([item["metadata"]["name"] for item in ours])
        compare = load_compare()
        found = [compare(live.get(item["metadata"]["name"]), item) for item in ours]
        obstacles = [comparison.obstacle for comparison in found if comparison.obstacle]
        for text in obstacles:
            print(f"CRD {text}", file=sys.stderr)
        if obstacles and not options.replace:
            return 1
        items = [item for item in ours if not is_served(live.get(item["metadata"]["name"]), item)]
        if items:
            apply(items)
    except subprocess.CalledProcessError as error:
        print(f"{Path(__file__).name}: {' '.join(error.cmd[:2])} failed", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
