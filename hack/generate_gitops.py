#!/usr/bin/env python3
# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Write the health checks of Argo CD and Flux, config/gitops, for all kinds of our CRDs.

hack/gitops has their one source: health.lua for Argo CD, expressions.yaml for Flux, and the files
around them. All kinds report their state in the same way, so all have the same check.

--check writes nothing and exits 1 if a file would change.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from generated_files import load_yaml, make_parser, update

ROOT = Path(__file__).resolve().parent.parent
BASES = ROOT / "config/crd/bases"
SOURCES = ROOT / "hack/gitops"
TARGET = ROOT / "config/gitops"
ARGO = Path("argocd/resource_customizations")
SCRIPT = "health.lua"


def read_kinds() -> list[tuple[str, str, str]]:
    """Group, version and kind of each CRD."""
    kinds = []
    for path in sorted(BASES.glob("*_*.yaml")):
        spec = load_yaml(path.read_text())["spec"]
        version = next(item["name"] for item in spec["versions"] if item["storage"])
        kinds.append((spec["group"], version, spec["names"]["kind"]))
    return kinds


def write_config_map(kinds: list[tuple[str, str, str]], script: str) -> str:
    """The data of Argo CD's ConfigMap; the first check has an anchor that the others refer to."""
    keys = [f"  resource.customizations.health.{group}_{kind}:" for group, _version, kind in kinds]
    first = f"{keys[0]} &health |\n{textwrap.indent(script, '    ')}"
    return first + "".join(f"{key} *health\n" for key in keys[1:])


def write_expressions(kinds: list[tuple[str, str, str]], expressions: dict[str, str]) -> str:
    """The list healthCheckExprs; the first item has anchors that the others refer to."""
    lines = []
    for number, (group, version, kind) in enumerate(kinds):
        lines += [f"    - apiVersion: {group}/{version}", f"      kind: {kind}"]
        for name, expression in expressions.items():
            if number:
                lines.append(f"      {name}: *{name}")
                continue
            lines.append(f"      {name}: &{name} >-")
            lines += [f"        {line}" for line in textwrap.wrap(expression, 120)]
    return "".join(f"{line}\n" for line in lines)


def generate() -> dict[Path, str]:
    """The files of config/gitops and their contents."""
    kinds = read_kinds()
    script = (SOURCES / SCRIPT).read_text()
    expressions = load_yaml((SOURCES / "expressions.yaml").read_text())
    files = {TARGET / ARGO / group / kind / SCRIPT: script for group, _version, kind in kinds}
    for name, checks in (
        ("argocd/argocd-cm.yaml", write_config_map(kinds, script)),
        ("flux/models.yaml", write_expressions(kinds, expressions)),
    ):
        template = (SOURCES / Path(name).name).read_text()
        files[TARGET / name] = template.replace("# @checks@\n", checks)
    return files


def main() -> int:
    options = make_parser(__doc__ or "").parse_args()
    present = (TARGET / ARGO).rglob(SCRIPT)
    return update(generate(), check=options.check, present=present)


if __name__ == "__main__":
    sys.exit(main())
