# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The CRDs and the samples of the checkout."""

from __future__ import annotations

import typing as t
from functools import cache

import yaml

from .cluster import Json
from .runtime import ROOT

CRDS = ROOT / "config" / "crd" / "bases"
SAMPLES = ROOT / "config" / "samples"


def strip(tree: t.Any, is_dropped: t.Callable[[t.Any], bool]) -> t.Any:
    """A copy of a tree without the keys, and the items of lists, of which this is true."""
    if isinstance(tree, dict):
        kept = {key: value for key, value in tree.items() if not is_dropped(key)}
        return {key: strip(value, is_dropped) for key, value in kept.items()}
    if isinstance(tree, list):
        return [strip(item, is_dropped) for item in tree if not is_dropped(item)]
    return tree


@cache
def read_crds() -> dict[str, Json]:
    """Kind → CRD."""
    found = [yaml.safe_load(file.read_text()) for file in sorted(CRDS.glob("*.yaml"))]
    return {crd["spec"]["names"]["kind"]: crd for crd in found}


@cache
def read_schemas() -> dict[str, Json]:
    """Kind → schema of its only version."""
    found = {}
    for kind, crd in read_crds().items():
        (version,) = crd["spec"]["versions"]
        found[kind] = version["schema"]["openAPIV3Schema"]
    return found


@cache
def read_samples() -> dict[str, tuple[Json, ...]]:
    """Kind → samples."""
    found: dict[str, tuple[Json, ...]] = {}
    for file in sorted(SAMPLES.glob("*_*.yaml")):
        for item in filter(None, yaml.safe_load_all(file.read_text())):
            found[item["kind"]] = (*found.get(item["kind"], ()), item)
    return found
