# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.rbac import (
    CONSTRAINTS_READ,
    account_children,
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


OTHER = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
MADE, LEFT = ["ServiceAccount", "Role", "RoleBinding"], ["RoleBinding", "Role"]
TAKEN_OVER = {"state": "Ready"}
CHANGED, UNCHANGED = {"observedGeneration": 1}, {"observedGeneration": 2}


@pytest.mark.parametrize(
    ("is_served", "status", "role", "more", "made", "granted", "left"),
    [
        pytest.param(None, {}, "", [], MADE, True, [], id="unknown"),
        pytest.param(True, {}, "", [], MADE, True, [], id="OpenShift"),
        pytest.param(False, {}, "", [], MADE[:1], False, LEFT, id="elsewhere"),
        pytest.param(False, {}, "", [OTHER], MADE, False, [], id="more permissions"),
        pytest.param(False, UNCHANGED, "u1", [], MADE, True, [], id="upgraded"),
        pytest.param(False, TAKEN_OVER, "u1", [], MADE, True, [], id="taken over"),
        pytest.param(False, CHANGED, "u1", [], MADE[:1], False, LEFT, id="changed"),
        pytest.param(False, UNCHANGED, "u1", [OTHER], MADE, True, [], id="upgraded, with more"),
        pytest.param(False, CHANGED, "u1", [OTHER], MADE, False, [], id="changed, with more"),
        pytest.param(False, UNCHANGED, "u2", [], MADE[:1], False, LEFT, id="of another owner"),
    ],
)
def test_account_children(
    app: t.Any,
    is_served: bool | None,
    status: dict[str, t.Any],
    role: str,
    more: list[dict[str, t.Any]],
    made: list[str],
    granted: bool,
    left: list[str],
) -> None:
    toy = app()
    toy.resource["metadata"] |= {"generation": 2, "uid": "u1"}
    toy.resource["status"] = status
    live = {
        "metadata": {"ownerReferences": [{"controller": True, "uid": role}]},
        "rules": [constraint_rule("nonroot")],
    }
    answers = {} if is_served is None else {CONSTRAINTS_READ.key: is_served}
    toy = toy.at(type(toy.observed)(answers | ({toy.key("Role"): live} if role else {})))
    wanted = account_children(toy, more)
    assert [item.manifest["kind"] for item in wanted.children] == made
    assert [kind for kind, _name in wanted.unwanted] == left
    rules = next((item.manifest["rules"] for item in wanted.children[1:2]), [])
    assert rules == ([constraint_rule(toy.security_constraint)] if granted else []) + more
