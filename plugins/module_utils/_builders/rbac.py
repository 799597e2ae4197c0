# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ServiceAccount of pods, and its permissions."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Json, Manifest
from .._engine.created_once import has_spec_changed
from .._engine.desired import Child, Desired
from .._engine.reads import Read, ReadChild, ReadServed
from .app import App

_RBAC_GROUP = "rbac.authorization.k8s.io"
SCC_GROUP, SCC_RESOURCE = "security.openshift.io", "securitycontextconstraints"
CONSTRAINTS_READ = ReadServed(SCC_GROUP)
_ROLE_KINDS = ("Role", "RoleBinding")


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


def account_reads(app: App, *, has_rules: bool = False) -> list[Read]:
    """The ServiceAccount, and the Role and its RoleBinding if they are wanted or may be leftovers.

    ``has_rules``: whether the Role grants more than SCCs.
    """
    found = [CONSTRAINTS_READ, ReadChild("ServiceAccount", app.namespace, app.name)]
    if has_rules or may_have_constraints(app):
        found += [ReadChild(kind, app.namespace, app.name) for kind in _ROLE_KINDS]
    return found


def account_children(app: App, rules: t.Sequence[Fields] = ()) -> Desired:
    """The ServiceAccount, and a Role with its RoleBinding if there is anything to grant.

    ``rules``: what the Role grants besides the SCC of the pods.
    """
    role = app.live("Role")
    if has_constraints(app) or (app.controls(role) and _keeps_constraints(app, role)):
        rules = [constraint_rule(app.security_constraint), *rules]
    made = [build_service_account(app)]
    if not rules:
        return Desired([Child(made[0])], [(kind, app.name) for kind in reversed(_ROLE_KINDS)])
    made += [build_role(app, rules), build_role_binding(app)]
    return Desired([Child(item) for item in made])


def may_have_constraints(app: App) -> bool:
    """Whether Roles grant SCCs, or did so for an earlier spec; False while that is unknown."""
    is_known = app.observed.has(CONSTRAINTS_READ.key)
    return is_known and (has_constraints(app) or app.may_have_leftovers)


def has_constraints(app: App) -> bool:
    """Whether the cluster has SCCs, because it is OpenShift, or unknown."""
    return app.observed.get(CONSTRAINTS_READ.key) is not False


def grants_constraints(app: App, role: Manifest | None) -> bool:
    """Whether a shared Role grants SCCs; ``role``: the live one."""
    return has_constraints(app) or _keeps_constraints(app, role)


def _keeps_constraints(app: App, role: Manifest | None) -> bool:
    """Whether the live Role keeps its SCCs: neither an upgrade nor a takeover changes objects."""
    return bool(granted_constraints(role)) and not has_spec_changed(app.resource)


def granted_constraints(role: Manifest | None) -> set[str]:
    """The names of the SCCs that a Role grants."""
    rules: list[dict[str, t.Any]] = (role or {}).get("rules") or []
    return {
        name
        for rule in rules
        if SCC_RESOURCE in (rule.get("resources") or [])
        for name in rule.get("resourceNames") or []
    }


def constraint_rule(*names: str) -> Json:
    """Permission to use SCCs."""
    return {
        "apiGroups": [SCC_GROUP],
        "resources": [SCC_RESOURCE],
        "resourceNames": list(names),
        "verbs": ["use"],
    }
