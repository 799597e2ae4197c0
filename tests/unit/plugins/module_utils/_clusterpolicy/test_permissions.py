# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import fnmatch

from ansible_collections.nimops.nim.plugins.module_utils._clusterpolicy.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._clusterpolicy.order import STATES
from ansible_collections.nimops.nim.plugins.module_utils._clusterpolicy.permissions import (
    permissions,
    role_names,
    rule,
)

EVERYTHING = {
    "nodeStatusExporter": {"enabled": True},
    "dcgmExporter": {"enablePodLabels": True, "serviceMonitor": {"enabled": True}},
    "migManager": {},
}


def test_a_component_has_an_account_a_role_and_its_binding(gpu):
    found = list(permissions(gpu.app({}), "x", [rule("pods", "get list")]))
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


def test_rules_of_the_cluster_are_a_cluster_role(gpu):
    found = list(permissions(gpu.app({}), "x", (), [rule("nodes", "get")], labels={"app": "x"}))
    names = [(item["kind"], item["metadata"]["name"]) for item in found]
    assert names == list(role_names("x", has_cluster_role=True))
    assert found[-1]["roleRef"]["kind"] == "ClusterRole"
    assert found[1]["metadata"]["labels"] == {"app": "x"}
    assert "labels" not in found[3]["metadata"]


def test_the_operator_has_what_it_grants(gpu):
    """Nobody can grant permissions that they lack."""
    app = gpu.app(EVERYTHING)
    granted = {
        (group, resource, verb)
        for state in STATES
        for item in state.children(app)
        if item["kind"] in ("Role", "ClusterRole")
        for given in item["rules"]
        for group in given["apiGroups"]
        for resource in given["resources"]
        for verb in given["verbs"]
    }
    held = {
        (item.group, resource, verb)
        for item in KIND.rules
        for resource in item.resources.split()
        for verb in item.verbs.split()
    }
    assert granted - held == set()
    assert held - granted == set(), "it has no more than that"


def test_no_rule_has_a_wildcard():
    assert not any("*" in f"{item.group}{item.resources}{item.verbs}" for item in KIND.rules)
    assert not fnmatch.filter([item.uses for item in KIND.access], "*[*]*")
