# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cluster that serves the API of OpenShift's SCCs."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client

SCC = "securitycontextconstraints.security.openshift.io"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": SCC},
    "spec": {
        "group": "security.openshift.io",
        "scope": "Cluster",
        "names": {"plural": "securitycontextconstraints", "kind": "SecurityContextConstraints"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}  # fmt: skip


def serves_constraints() -> bool:
    return Client().get("/apis/security.openshift.io") is not None
