# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""An installation in one namespace: the objects of an administrator, and those of its user."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from .manifests import Manifest

PLACE = "nim"
"""the namespace in config/overlays/namespaced"""
INSTALLER_ROLE = "nimops-installer-role"
_ROLES = ("Role",)
_CLUSTER = (
    "ClusterRole",
    "CustomResourceDefinition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
_LABELS = {"app.kubernetes.io/name": "nimops", "app.kubernetes.io/component": "rbac"}


def cluster_objects(items: Sequence[Manifest]) -> list[Manifest]:
    """Return the objects outside namespaces, and the rules of the operator as unbound ClusterRoles.

    A user who is bound to the installer's role may bind these rules in the same namespace, which
    Kubernetes allows otherwise only to users who hold all of them.
    """
    found = [copy.deepcopy(item) for item in items if item["kind"] in _CLUSTER]
    roles = [_as_cluster_role(item) for item in items if item["kind"] in _ROLES]
    names = sorted(item["metadata"]["name"] for item in roles)
    rule = {
        "apiGroups": ["rbac.authorization.k8s.io"],
        "resources": ["clusterroles"],
        "resourceNames": names,
        "verbs": ["bind"],
    }
    return [*found, *roles, _cluster_role(INSTALLER_ROLE, [rule])]


def namespaced_objects(items: Sequence[Manifest]) -> list[Manifest]:
    """Return the objects of the operator, all in one namespace, which is also the one it serves."""
    kinds = (*_CLUSTER, *_ROLES, "Namespace")
    return [_in_place(copy.deepcopy(item)) for item in items if item["kind"] not in kinds]


def _in_place(item: Manifest) -> Manifest:
    item["metadata"]["namespace"] = PLACE
    for subject in item.get("subjects") or ():
        subject["namespace"] = PLACE
    if "roleRef" in item:
        item["roleRef"]["kind"] = "ClusterRole"
    return item


def _as_cluster_role(role: Manifest) -> Manifest:
    return _cluster_role(role["metadata"]["name"], role["rules"])


def _cluster_role(name: str, rules: Sequence[Manifest]) -> Manifest:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": dict(_LABELS)},
        "rules": list(rules),
    }
