# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Which definitions hack/apply_crds.py does not apply, because the cluster serves them unchanged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]

Definition = dict[str, Any]

OURS: Definition = {
    "metadata": {
        "name": "nims.example.com",
        "labels": {"app": "ours"},
        "annotations": {"release": "1"},
    },
    "spec": {
        "group": "example.com",
        "names": {"kind": "Nim", "plural": "nims"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}],
    },
}


@pytest.fixture(scope="module")
def is_served(load_module: Callable[[Path], ModuleType]) -> Callable[..., bool]:
    function: Callable[..., bool] = load_module(ROOT / "hack/apply_crds.py").is_served
    return function


def make_live() -> Definition:
    """The definition as an API server returns it: with defaults, and with what others add."""
    live = copy.deepcopy(OURS)
    live["metadata"] |= {"uid": "1", "labels": {"app": "ours", "other": "theirs"}}
    live["spec"] |= {"conversion": {"strategy": "None"}}
    live["spec"]["names"] |= {"singular": "nim", "listKind": "NimList"}
    live["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    return live


def test_is_served_unchanged(is_served: Callable[..., bool]) -> None:
    assert is_served(make_live(), OURS)


def test_is_served_missing(is_served: Callable[..., bool]) -> None:
    assert not is_served(None, OURS)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("metadata.labels", None, id="without-labels"),
        pytest.param("metadata.annotations.release", "0", id="another-release"),
        pytest.param("metadata.deletionTimestamp", "2026-11-30T00:00:00Z", id="being-deleted"),
        pytest.param("spec.names.plural", "nimses", id="another-name"),
        pytest.param("spec.scope", "Cluster", id="another-scope"),
        pytest.param("spec.versions", [], id="without-versions"),
        pytest.param("spec.versions", OURS["spec"]["versions"] * 2, id="more-versions"),
        pytest.param("status", {}, id="new"),
        pytest.param(
            "status.conditions", [{"type": "Established", "status": "False"}], id="not-established"
        ),
    ],
)
def test_is_served_changed(is_served: Callable[..., bool], path: str, value: Any) -> None:
    live = make_live()
    *parents, last = path.split(".")
    place = live
    for name in parents:
        place = place[name]
    place[last] = value
    assert not is_served(live, OURS)
