# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import sys
import types

import pytest

from nimops_supervisor import collection_path, repair

UTILS = "ansible_collections.nimops.nim.plugins.module_utils"
COMPONENTS = {"ClusterPolicy": "gpu", "NIMCache": "", "NemoDatastore": "nemo"}


@pytest.fixture
def repaired(monkeypatch):
    """The kinds that `repair` passes to a collection of three kinds."""
    asked = []

    def remove(_client, kinds, _namespaces):
        asked.extend(kinds)
        return []

    kinds = types.SimpleNamespace(
        kind_names=lambda: sorted(COMPONENTS),
        kind_of=lambda resource: types.SimpleNamespace(component=COMPONENTS[resource["kind"]]),
    )
    cluster = types.SimpleNamespace(
        client=types.SimpleNamespace(Client=lambda: None),
        runtime_annotations=types.SimpleNamespace(remove_harmful_annotations=remove),
    )
    monkeypatch.setattr(collection_path, "add_to_path", lambda: None)
    monkeypatch.setitem(sys.modules, UTILS, types.SimpleNamespace(_kinds=kinds))
    errors = types.SimpleNamespace(errors=types.SimpleNamespace(ApiError=ValueError))
    monkeypatch.setitem(sys.modules, f"{UTILS}._cluster", cluster)
    monkeypatch.setitem(sys.modules, f"{UTILS}._base", errors)
    for number in range(1, UTILS.count(".") + 1):
        name = ".".join(UTILS.split(".")[:number])
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    return asked


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["NIMCache", "NemoDatastore"]),
        ({"NIMOPS_NEMO": "off"}, ["NIMCache"]),
        ({"NIMOPS_COMPONENT": "gpu"}, ["ClusterPolicy", "NIMCache", "NemoDatastore"]),
        ({"NIMOPS_COMPONENT": "gpu", "NIMOPS_NEMO": "off"}, ["ClusterPolicy", "NIMCache"]),
    ],
)
def test_repair_served_kinds(monkeypatch, repaired, environment, expected):
    for name in ("NIMOPS_NEMO", "NIMOPS_COMPONENT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert repair.main() == 0
    assert repaired == expected
