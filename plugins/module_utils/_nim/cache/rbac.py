# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ServiceAccount, Role and RoleBinding that all NIMCaches of a namespace share."""

from __future__ import annotations

from ..._base.types import Json, Manifest
from ..._builders.rbac import (
    SCC_GROUP,
    SCC_RESOURCE,
    granted_constraints,
    grants_constraints,
)
from ..._engine.api_resources import manifest
from ..._engine.desired import Child
from ..._engine.metadata import MANAGED_BY, MANAGED_BY_LABEL
from .app import NIMCacheApp
from .constants import ROLE, ROLE_BINDING, SERVICE_ACCOUNT

_RBAC_GROUP = "rbac.authorization.k8s.io"
_ANY_USER, _NON_ROOT = "anyuid", "nonroot"
_GRANTABLE = {_ANY_USER, _NON_ROOT}
_LABELS = {"app": MANAGED_BY, MANAGED_BY_LABEL: MANAGED_BY}


def build_rbac(
    app: NIMCacheApp, live_role: Manifest | None, *, is_root: bool = True
) -> list[Child]:
    """The ServiceAccount, and a Role with its RoleBinding if pods need SCCs.

    ``is_root``: whether pods of caches may run as root.
    """
    namespace = app.namespace
    account = manifest(
        "ServiceAccount",
        SERVICE_ACCOUNT,
        namespace,
        metadata={"labels": {MANAGED_BY_LABEL: MANAGED_BY}},
    )
    children = [Child(account, create_only=True, shared=True)]
    if not grants_constraints(app, live_role):
        return children
    binding = manifest(
        "RoleBinding",
        ROLE_BINDING,
        namespace,
        metadata={"labels": dict(_LABELS)},
        **_bind(namespace),
    )
    return [
        *children,
        Child(_build_role(app, live_role, is_root=is_root), shared=True, merged=True),
        Child(binding, shared=True),
    ]


def find_shared_leftovers(app: NIMCacheApp) -> list[tuple[str, str]]:
    """The Role and its RoleBinding if pods need no SCCs, unless one has unusual contents.

    The policy on the operator's account allows the deletion of the usual contents only.
    """
    role, binding = app.live("Role", ROLE), app.live("RoleBinding", ROLE_BINDING)
    if grants_constraints(app, role):
        return []
    granted = granted_constraints(role)
    usual_role = {"rules": [_grant(sorted(granted))]} if granted <= _GRANTABLE else {}
    if not (_has(role, usual_role) and _has(binding, _bind(app.namespace))):
        return []
    return [("RoleBinding", ROLE_BINDING), ("Role", ROLE)]


def _has(live: Manifest | None, usual: Json) -> bool:
    """Whether an object is absent or has these contents."""
    return live is None or (bool(usual) and live.items() >= usual.items())


def _bind(namespace: str) -> Json:
    """The contents of the RoleBinding."""
    subject = {"kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": namespace}
    role = {"apiGroup": _RBAC_GROUP, "kind": "Role", "name": ROLE}
    return {"roleRef": role, "subjects": [subject]}


def _grant(names: list[str]) -> Json:
    """The rule of the Role."""
    return {
        "apiGroups": [SCC_GROUP],
        "resourceNames": names,
        "resources": [SCC_RESOURCE],
        "verbs": ["use"],
    }


def _build_role(app: NIMCacheApp, live: Manifest | None, *, is_root: bool) -> Manifest:
    """The Role with the SCCs that this cache needs and those already granted to other caches.

    Rules are an atomic list, so caches that wrote only their own would overwrite each other.
    """
    needed = {_NON_ROOT} | ({_ANY_USER} if app.spec.proxy.is_given else set())
    grantable = _GRANTABLE if is_root else {_NON_ROOT}
    return manifest(
        "Role",
        ROLE,
        app.namespace,
        metadata={"labels": dict(_LABELS)},
        rules=[_grant(sorted((needed | granted_constraints(live)) & grantable))],
    )
