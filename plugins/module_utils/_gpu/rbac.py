# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the ServiceAccounts of the stack's pods and their permissions."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest
from .._builders.app import App
from .._builders.rbac import constraint_rule

_GROUP = "rbac.authorization.k8s.io"

Rule = dict[str, t.Any]
ObjectNames = tuple[tuple[str, str], ...]
"""(kind, name) pairs of objects."""


def rule(resources: str, verbs: str, group: str = "") -> Rule:
    """A policy rule; lists are space-separated words."""
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}


READ_NODES = rule("nodes", "get list watch")
WATCH_DAEMON_SETS = rule("daemonsets", "get list watch", "apps")


def role_names(name: str, *, has_cluster_role: bool = False) -> ObjectNames:
    """The ServiceAccount with this name and the objects that grant its permissions."""
    kinds = ["ServiceAccount", "Role", "RoleBinding"]
    if has_cluster_role:
        kinds += ["ClusterRole", "ClusterRoleBinding"]
    return tuple((kind, name) for kind in kinds)


def permissions(
    app: App,
    name: str,
    rules: t.Sequence[Rule] = (),
    cluster_rules: t.Sequence[Rule] = (),
    *,
    labels: dict[str, str] | None = None,
    constraints: Rule | None = None,
) -> t.Iterator[Manifest]:
    """Build a ServiceAccount with these rules in its namespace and in the cluster.

    All get a SecurityContextConstraint, which OpenShift requires.
    """
    granted = [constraints or constraint_rule("privileged"), *rules]
    yield app.child("ServiceAccount", name=name, labels=labels)
    yield app.child("Role", name=name, labels=labels, rules=granted)
    yield app.child("RoleBinding", name=name, labels=labels, **_binding(app, "Role", name))
    if cluster_rules:
        yield from cluster_role(app, name, cluster_rules, name)


def cluster_role(
    app: App,
    name: str,
    rules: t.Sequence[Rule],
    account: str,
    labels: dict[str, str] | None = None,
) -> t.Iterator[Manifest]:
    """Build a ClusterRole and bind it to a ServiceAccount."""
    yield app.child("ClusterRole", name=name, labels=labels, rules=list(rules))
    yield app.child(
        "ClusterRoleBinding",
        name=name,
        labels=labels,
        **_binding(app, "ClusterRole", name, account),
    )


def _binding(app: App, kind: str, name: str, account: str = "") -> dict[str, t.Any]:
    subject = {"kind": "ServiceAccount", "name": account or name, "namespace": app.namespace}
    role = {"apiGroup": _GROUP, "kind": kind, "name": name}
    return {"roleRef": role, "subjects": [subject]}
