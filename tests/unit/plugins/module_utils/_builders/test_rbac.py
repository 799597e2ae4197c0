# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.rbac import (
    build_role,
    build_role_binding,
    build_service_account,
    constraint_rule,
)


@pytest.mark.parametrize(("name", "wanted"), [("", "a"), ("a-epp", "a-epp")])
def test_build_rbac_objects_share_name(app: t.Any, name: str, wanted: str) -> None:
    toy, rules = app(annotations={"x": "1"}), (constraint_rule("nonroot"),)
    account = build_service_account(toy, name)
    role = build_role(toy, rules, name)
    binding = build_role_binding(toy, name)
    assert role["rules"] == list(rules)
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": wanted,
    }  # fmt: skip
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": wanted, "namespace": "ns"}]
    for made in (account, role, binding):
        assert made["metadata"]["name"] == wanted
        assert "annotations" not in made["metadata"]
        assert made["metadata"]["labels"] == toy.labels


def test_constraint_rule() -> None:
    assert constraint_rule("nonroot", "anyuid") == {
        "apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"],
        "resourceNames": ["nonroot", "anyuid"],
        "verbs": ["use"],
    }
