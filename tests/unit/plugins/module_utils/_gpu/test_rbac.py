# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.rbac import (
    permissions,
    role_names,
    rule,
)


def test_permissions_account_and_role(make_app):
    found = list(permissions(make_app(), "x", [rule("pods", "get list")]))
    assert [(item["kind"], item["metadata"]["name"]) for item in found] == list(role_names("x"))
    _account, role, binding = found
    assert role["rules"] == [
        {
            "apiGroups": ["security.openshift.io"],
            "resources": ["securitycontextconstraints"],
            "resourceNames": ["privileged"],
            "verbs": ["use"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    ]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "x", "namespace": "gpu-operator"}
    ]
    assert binding["roleRef"]["kind"] == "Role"


def test_permissions_cluster_role(make_app):
    found = list(permissions(make_app(), "x", (), [rule("nodes", "get")], labels={"app": "x"}))
    names = [(item["kind"], item["metadata"]["name"]) for item in found]
    assert names == list(role_names("x", has_cluster_role=True))
    assert found[-1]["roleRef"]["kind"] == "ClusterRole"
    assert found[1]["metadata"]["labels"] == {"app": "x"}
    assert "labels" not in found[3]["metadata"]
