# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Permissions that both kinds of the GPU stack need on other kinds."""

from __future__ import annotations

import typing as t

from .._engine.api_resources import ApiResource
from .._engine.kind import Access, Rule

_RBAC = "rbac.authorization.k8s.io/v1"

RESOURCES: t.Final = {
    "ClusterRole": ApiResource(_RBAC, "clusterroles", is_namespaced=False),
    "ClusterRoleBinding": ApiResource(_RBAC, "clusterrolebindings", is_namespaced=False),
    "CustomResourceDefinition": ApiResource(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        is_namespaced=False,
        is_cached=False,
    ),
    "GPUCluster": ApiResource(
        "nvidia.com/v1alpha1", "gpuclusters", is_namespaced=False, is_cached=False
    ),
}

UPGRADE_ACCESS = (
    Access("ControllerRevision", "list", "which drivers are outdated"),
    Access("PodDisruptionBudget", "list", "which pods an upgrade of drivers may not evict"),
    Access("ResourceClaim", "list", "which pods use GPUs, for an upgrade of drivers"),
    Access("Deployment", "list", "which NIMServices an upgrade of drivers concerns"),
    Access("LeaderWorkerSet", "list", "which NIMServices an upgrade of drivers concerns"),
)


def rbac_access(whose: str) -> tuple[Access, ...]:
    """Access to ServiceAccounts and their RBAC objects; ``whose``: the workloads that use them."""
    return (
        Access("ServiceAccount", "read write delete", f"identities of {whose}"),
        *(
            Access(kind, "read write delete", "what they may do")
            for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        ),
    )


def constraint_access(why: str) -> Rule:
    """The rule for the SecurityContextConstraint that the Roles of the pods grant."""
    return Rule("security.openshift.io", "securitycontextconstraints", "use", why, is_local=True)
