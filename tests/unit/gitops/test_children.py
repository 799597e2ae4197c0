# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Argo CD and Flux do not take the children of a resource for their own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nimops_gitops import argo

Json = dict[str, Any]

SAMPLES = Path(__file__).resolve().parents[1] / "plugins/module_utils/test_foreign.py"
FLUX = {"kustomize.toolkit.fluxcd.io/name": "a", "kustomize.toolkit.fluxcd.io/namespace": "b"}


@pytest.fixture(scope="module")
def cases(load_module: Callable[[Path], ModuleType]) -> dict[str, Any]:
    """Resources whose children have every kind of object that we write."""
    found: dict[str, Any] = load_module(SAMPLES).cases()
    return found


def with_marks(resource: Json, application: str) -> Json:
    """The resource as Argo CD and Flux apply it."""
    marked = argo.track(resource, application)
    marked["metadata"]["labels"] |= FLUX
    return marked


def test_children_have_owners(cases: dict[str, Any]) -> None:
    """Argo CD prunes no object with an owner; what NIMCaches share has none, and no label either."""
    without = set()
    for name, case in cases.items():
        for manifest in case.run()[0].children.values():
            metadata = manifest["metadata"]
            assert not argo.is_adopted(manifest, case.resource["metadata"]["name"]), name
            if not metadata.get("ownerReferences"):
                without.add(f"{manifest['kind']}/{metadata['name']}")
                assert argo.TRACKING_LABEL not in metadata["labels"], name
    assert without == {
        "ServiceAccount/nim-cache-sa",
        "Role/nim-cache-role",
        "RoleBinding/nim-cache-rolebinding",
    }


def test_children_do_not_inherit_marks(cases: dict[str, Any]) -> None:
    for name, case in cases.items():
        marked = case._replace(resource=with_marks(copy.deepcopy(case.resource), "gitops"))
        assert marked.run()[0].children == case.run()[0].children, name
