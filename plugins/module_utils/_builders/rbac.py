# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ServiceAccount of pods, and its permissions."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Json, Manifest
from .app import App

_RBAC_GROUP = "rbac.authorization.k8s.io"
SCC_GROUP, SCC_RESOURCE = "security.openshift.io", "securitycontextconstraints"


def build_service_account(app: App, name: str = "") -> Manifest:
    """A ServiceAccount."""
    return app.child("ServiceAccount", name=name, annotations={})


def build_role(app: App, rules: t.Sequence[Fields], name: str = "") -> Manifest:
    """A Role; RBAC requires the operator to have all permissions that it grants."""
    return app.child("Role", name=name, annotations={}, rules=list(rules))


def build_role_binding(app: App, name: str = "") -> Manifest:
    """Binds the Role to the ServiceAccount of the same name."""
    name = name or app.name
    return app.child(
        "RoleBinding",
        name=name,
        annotations={},
        roleRef={"apiGroup": _RBAC_GROUP, "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name, "namespace": app.namespace}],
    )


def constraint_rule(*names: str) -> Json:
    """Permission to use SCCs; granted on every Kubernetes, although most have no SCCs."""
    return {
        "apiGroups": [SCC_GROUP],
        "resources": [SCC_RESOURCE],
        "resourceNames": list(names),
        "verbs": ["use"],
    }
