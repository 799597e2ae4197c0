# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The status that Flux gives a resource by the expressions of a Kustomization."""

from __future__ import annotations

import functools
import typing as t
from pathlib import Path

import celpy
import yaml

Json = dict[str, t.Any]

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "config/gitops/flux/models.yaml"
CURRENT, FAILED, IN_PROGRESS = "Current", "Failed", "InProgress"
ORDER = {"inProgress": IN_PROGRESS, "failed": FAILED, "current": CURRENT}


def read_checks() -> dict[tuple[str, str], dict[str, str]]:
    """(apiVersion, kind) → the expressions of the example."""
    checks = yaml.safe_load(EXAMPLE.read_text())["spec"]["healthCheckExprs"]
    return {(item.pop("apiVersion"), item.pop("kind")): item for item in checks}


def judge(expressions: dict[str, str], resource: Json) -> str:
    """The status, in the order of Flux; CELEvalError if an expression fails."""
    seen = (resource.get("status") or {}).get("observedGeneration")
    if seen is not None and seen != resource["metadata"].get("generation"):
        return IN_PROGRESS
    names = {key: celpy.json_to_cel(value) for key, value in resource.items()}
    for name, status in ORDER.items():
        found = _compile(expressions[name]).evaluate(names) if name in expressions else False
        if not isinstance(found, (bool, celpy.celtypes.BoolType)):
            raise TypeError(f"{name} is {found!r}")
        if found:
            return status
    return IN_PROGRESS


@functools.cache
def _compile(expression: str) -> t.Any:
    environment = celpy.Environment()
    return environment.program(environment.compile(expression))
