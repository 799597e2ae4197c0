# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

SPELLING = {"NemoEntitystore": "NemoEntitystore", "NemoGuardrail": "NemoGuardrail"}
"""Finalizers of the reference that are not in lower case."""
MORE = {
    "NemoDatastore": [("PersistentVolumeClaim", "read write")],
    "NemoEntitystore": [],
    "NemoEvaluator": [("Secret", "write")],
    "NemoGuardrail": [
        ("PersistentVolumeClaim", "read write"),
        ("ConfigMap", "read"),
        ("Secret", "write delete"),
    ],
}
"""Additional accesses of each kind."""


@pytest.mark.parametrize("name", MORE)
def test_nemo_kind(nemo: t.Any, name: str) -> None:
    kind = kind_of(nemo.cr(name))
    assert kind.finalizer == f"finalizer.{SPELLING.get(name, name.lower())}.apps.nvidia.com"
    assert (kind.plural, kind.reconcile_period) == (f"{name.lower()}s", "1m")
    found = [(item.kind, item.uses) for item in kind.access]
    selecting = [("Service", "list"), ("InferencePool", "list")]
    assert found[9:] == [("Pod", "list"), ("Secret", "read"), *selecting, *MORE[name]]
    uses = {"read write delete", "read write delete list"}
    assert {item[1] for item in found[:9]} == uses
    assert ("HorizontalPodAutoscaler", "read write delete list") in found[:9]


@pytest.mark.parametrize("name", MORE)
def test_operator_covers_grants(nemo: t.Any, name: str) -> None:
    """Kubernetes forbids granting permissions that the grantor lacks."""
    kind = kind_of(nemo.cr(name))
    granted = nemo.made(name)["Role"]["rules"]
    assert [
        (rule.group, rule.resources.split(), rule.verbs.split(), rule.names.split())
        for rule in kind.rules
    ] == [
        (*rule["apiGroups"], rule["resources"], rule["verbs"], rule.get("resourceNames", []))
        for rule in granted
    ]
