# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""ServiceAccount, Role and RoleBinding: the identity of the pods, allowed one OpenShift SCC."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    namespace_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    security_constraint,
    service_labels,
)


def build_service_account(cr: Resource, observed: Observed, name: str = "") -> Manifest:
    """The ServiceAccount of the pods, or one of another name."""
    return build(cr, "ServiceAccount", service_labels(cr, observed), name=name)


def build_role(cr: Resource, observed: Observed) -> Manifest:
    """The right to use the SCC; it is granted on every Kubernetes, and means nothing on most."""
    rule = {
        "apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"],
        "resourceNames": [security_constraint(cr)],
        "verbs": ["use"],
    }
    return build(cr, "Role", service_labels(cr, observed), rules=[rule])


def build_role_binding(cr: Resource, observed: Observed, name: str = "") -> Manifest:
    """The Role for the ServiceAccount, or those of another name."""
    name = name or name_of(cr)
    return build(
        cr,
        "RoleBinding",
        service_labels(cr, observed),
        name=name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name, "namespace": namespace_of(cr)}],
    )
