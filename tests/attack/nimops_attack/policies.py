# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Clusters without the rules of the CRDs, and without our admission policies."""

from __future__ import annotations

import contextlib
import typing as t

from .fields import Json
from .harness import KINDS, Harness

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_OF_SERVER = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")


def strip_rules(schema: t.Any, word: str = "__ansible") -> t.Any:
    """A schema without the rules that contain this word."""
    if isinstance(schema, list):
        return [strip_rules(item, word) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {key: strip_rules(value, word) for key, value in schema.items()}
    rules = bare.get("x-kubernetes-validations")
    if isinstance(rules, list):
        bare["x-kubernetes-validations"] = [
            rule for rule in rules if word not in rule.get("rule", "")
        ]
        if not bare["x-kubernetes-validations"]:
            del bare["x-kubernetes-validations"]
    return bare


@contextlib.contextmanager
def without_rules(harness: Harness) -> t.Iterator[None]:
    """During the block, the CRDs have no rules about keys."""
    specs: list[tuple[str, Json]] = []
    for kind in KINDS:
        path = f"{_CRDS}/{kind.lower()}s.apps.nvidia.com"
        crd = harness.cluster.get(path)
        specs.append((path, crd["spec"]))
        harness.cluster.request("PUT", path, crd | {"spec": strip_rules(crd["spec"])})
    try:
        yield
    finally:
        for path, spec in specs:
            harness.cluster.request("PUT", path, harness.cluster.get(path) | {"spec": spec})


@contextlib.contextmanager
def without_policies(harness: Harness) -> t.Iterator[None]:
    """During the block, no admission policy is bound."""
    bindings = harness.cluster.get(_BINDINGS)["items"]
    for item in bindings:
        harness.cluster.request("DELETE", f"{_BINDINGS}/{item['metadata']['name']}")
    try:
        yield
    finally:
        for item in bindings:
            kept = {key: value for key, value in item["metadata"].items() if key not in _OF_SERVER}
            harness.cluster.request("POST", _BINDINGS, item | {"metadata": kept})
