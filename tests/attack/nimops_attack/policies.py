# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Clusters without some rules of the CRDs, and without our admission policies."""

from __future__ import annotations

import contextlib
import typing as t

from nimops_harness.cluster import Api, Json, path_of
from nimops_harness.crds import strip

from .harness import KINDS

_BINDINGS = path_of("ValidatingAdmissionPolicyBinding", "")
_OF_SERVER = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")
_BOUNDS = ("maxItems", "maxLength", "maxProperties", "x-kubernetes-validations")


def is_bound(part: t.Any) -> bool:
    return part in _BOUNDS


def is_rule_about_keys(part: t.Any) -> bool:
    return isinstance(part, dict) and "__ansible" in str(part.get("rule"))


@contextlib.contextmanager
def without(
    cluster: Api, is_dropped: t.Callable[[t.Any], bool], kinds: t.Sequence[str] = KINDS
) -> t.Iterator[None]:
    """During the block, the CRDs of these kinds lack some parts; it takes effect a moment later."""
    specs: list[tuple[str, Json]] = []
    for kind in kinds:
        path = path_of("CustomResourceDefinition", "", f"{kind.lower()}s.apps.nvidia.com")
        crd = cluster.get(path)
        specs.append((path, crd["spec"]))
        cluster.request("PUT", path, crd | {"spec": strip(crd["spec"], is_dropped)})
    try:
        yield
    finally:
        for path, spec in specs:
            cluster.request("PUT", path, cluster.get(path) | {"spec": spec})


@contextlib.contextmanager
def without_policies(cluster: Api) -> t.Iterator[None]:
    """During the block, no admission policy is bound."""
    bindings = cluster.get(_BINDINGS)["items"]
    for item in bindings:
        cluster.request("DELETE", f"{_BINDINGS}/{item['metadata']['name']}")
    try:
        yield
    finally:
        for item in bindings:
            kept = {key: value for key, value in item["metadata"].items() if key not in _OF_SERVER}
            cluster.request("POST", _BINDINGS, item | {"metadata": kept})
