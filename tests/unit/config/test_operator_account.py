# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The policy on the operator's account covers all writes that its roles allow.

tests/admission/test_operator_account.py makes the requests, and `make attack` those that fail.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import (
    MANAGED_BY,
    MANAGED_BY_LABEL,
    OWNER_ANNOTATION,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.rbac import build_rbac

CONFIG = Path(__file__).resolve().parents[3] / "config"
POLICY, BINDING = yaml.safe_load_all((CONFIG / "admission/operator_account.yaml").read_text())
SPEC = POLICY["spec"]
VARIABLES = {item["name"]: item["expression"] for item in SPEC["variables"]}
WRITES = {"create", "update", "patch", "delete", "deletecollection"}
KINDS = [kind_of({"kind": name}) for name in kind_names()]
OWN = {(kind.group, kind.plural) for kind in KINDS}


@pytest.fixture(scope="module")
def generator(load_module):
    return load_module(CONFIG.parent / "hack/generate_kinds.py")


def held() -> set[tuple[str, str]]:
    """Writes that the roles of the account allow."""
    files = [*CONFIG.glob("rbac/*role.yaml"), *CONFIG.glob("components/*/role.yaml")]
    people = ("_admin_role", "_editor_role", "_viewer_role")
    roles = [
        role
        for file in files
        if not file.stem.endswith(people)
        for role in yaml.safe_load_all(file.read_text())
        if isinstance(role, dict)  # not patches, which only take or return fields
    ]
    assert len(roles) > 4
    return {
        (group, resource)
        for role in roles
        for rule in role["rules"]
        if WRITES & set(rule["verbs"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def checked(*operations: str) -> set[tuple[str, str]]:
    return {
        (group, resource)
        for rule in SPEC["matchConstraints"]["resourceRules"]
        if set(operations) <= set(rule["operations"])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_writable_resources_checked_or_harmless(generator):
    parts = {(group, f"{name}/{part}") for group, name in OWN for part in ("status", "finalizers")}
    harmless = set(generator.HARMLESS) | parts
    assert held() - harmless == checked("CREATE", "UPDATE", "DELETE")
    # No exceptions for objects that are no longer written.
    assert set(generator.HARMLESS) <= held()
    assert all(generator.HARMLESS.values())
    assert generator.NEVER.keys().isdisjoint(held())
    assert generator.NEVER.keys() <= checked()


def test_writable_resources_include_powerful():
    assert {
        ("", "pods"),
        ("", "secrets"),
        ("", "serviceaccounts"),
        ("apps", "daemonsets"),
        ("apps", "deployments"),
        ("batch", "jobs"),
        ("rbac.authorization.k8s.io", "clusterrolebindings"),
        ("rbac.authorization.k8s.io", "rolebindings"),
    } <= checked("CREATE", "UPDATE", "DELETE")


def test_owner_kinds():
    listed = {name: yaml.safe_load(VARIABLES[name]) for name in ("owners", "clusterOwners")}
    for name, is_namespaced in (("owners", True), ("clusterOwners", False)):
        assert listed[name] == [
            f"{kind.api_version}/{kind.name}"
            for kind in KINDS
            if kind.is_namespaced == is_namespaced
        ]
    kinds = [f"{kind.name}.{kind.group}" for kind in KINDS if kind.is_namespaced]
    assert yaml.safe_load(VARIABLES["ownerTypes"]) == kinds
    own = yaml.safe_load(VARIABLES["ownResources"])
    assert set(own) == {f"{group}/{plural}" for group, plural in OWN}


def test_annotation_names():
    for name in ("isAnnotated", "wasAnnotated"):
        assert f"'{OWNER_ANNOTATION}'" in VARIABLES[name]
    assert f"[?'{MANAGED_BY_LABEL}'].orValue('') == '{MANAGED_BY}'" in VARIABLES["wasHandedOver"]


def test_shared_names():
    cache = {"apiVersion": "v1", "kind": "NIMCache", "metadata": {"name": "a", "namespace": "b"}}
    app = NIMCacheApp({**cache, "spec": {"proxy": {}}}, Observed({}))
    account, role, binding = (child.manifest for child in build_rbac(app, None))
    names = [item["metadata"]["name"] for item in (account, role, binding)]
    assert yaml.safe_load(VARIABLES["sharedNames"]) == names
    shared = VARIABLES["isShared"]
    [rule] = role["rules"]
    for field in ("apiGroups", "resources"):
        assert f"rule.?{field}.orValue([]) == {rule[field]}" in shared
    assert f"rule.verbs == {rule['verbs']}" in shared
    assert f"name in {rule['resourceNames']}" in shared
    assert account.keys() == {"apiVersion", "kind", "metadata"}
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == ("Role", names[1])
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": names[0], "namespace": "b"}]


def test_match_conditions_and_failure_policy():
    [condition] = SPEC["matchConditions"]
    assert condition["expression"] == (
        "request.userInfo.username == 'system:serviceaccount:' + params.metadata.namespace + ':'"
        " + params.metadata.name"
    )
    assert SPEC["failurePolicy"] == "Fail"
    assert BINDING["spec"]["validationActions"] == ["Deny"]


def test_messages():
    for item in SPEC["validations"]:
        assert item["messageExpression"].startswith("variables.what + ': ")
        assert item["messageExpression"].rstrip().endswith("#what-limits-the-account)'")
        assert item["reason"] == "Forbidden"
    assert "\n## What limits the account\n" in (CONFIG.parent / "docs/operate/rbac.md").read_text()
