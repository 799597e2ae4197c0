# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""With the GPU stack, the operator has exactly the permissions that its kinds use and grant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.app import PolicyApp
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of

COMPONENT = Path(__file__).resolve().parents[3] / "config/components/gpu"
OWN = [name for name in kind_names() if kind_of({"kind": name}).component == "gpu"]
ALL_ON = {"dcgmExporter": {"enablePodLabels": True}, "nodeStatusExporter": {"enabled": True}}
RUNTIME = {
    "": {"get", "list", "watch", "patch"},
    "/status": {"patch", "update"},
    "/finalizers": {"update"},
}
PROXY = {("", "nodes"): {"list", "watch"}}
"""nimops-apiproxy looks at nodes."""

Verbs = dict[tuple[str, str], set[str]]


def verbs_of(rules: list[dict]) -> Verbs:
    found: Verbs = {}
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def load_held() -> tuple[Verbs, Verbs]:
    """The operator's permissions in the whole cluster, and in its own namespace."""
    everywhere, near = yaml.safe_load_all((COMPONENT / "role.yaml").read_text())
    return verbs_of(everywhere["rules"]), verbs_of(near["rules"])


def granted_to_children(kind: str) -> Verbs:
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy", "uid": "u"},
        "spec": ALL_ON,
    }
    children = [child.manifest for child in desired(PolicyApp(policy, Observed({}))).children]
    roles = [item for item in children if item["kind"] == kind]
    assert roles
    return verbs_of([rule for role in roles for rule in role["rules"]])


def declared() -> Verbs:
    """The declared accesses of the kinds, and the runtime's accesses to them."""
    found: Verbs = {}
    for name in OWN:
        kind = kind_of({"kind": name})
        for part, verbs in RUNTIME.items():
            found.setdefault((kind.group, f"{kind.plural}{part}"), set()).update(verbs)
        if kind.has_finalizer:
            found[kind.group, kind.plural].add("update")
        for access in kind.access:
            item = KINDS[access.kind]
            reads = {"get", "list", "watch"} if item.is_cached else {"get"}
            meaning = {
                "read": reads,
                "list": reads | {"list"} if item.is_cached else {"list"},
                "write": {"create", "patch"},
                "patch": {"patch"},
                "delete": {"delete"},
            }
            for use in access.uses.split():
                found.setdefault((item.group, item.plural), set()).update(meaning[use])
    return found


def without(verbs: Verbs, *others: Verbs) -> Verbs:
    left = {
        target: found - set().union(*(other.get(target, set()) for other in others))
        for target, found in verbs.items()
    }
    return {target: found for target, found in left.items() if found}


def test_cluster_role_grants():
    everywhere, _near = load_held()
    assert without(granted_to_children("ClusterRole"), everywhere) == {}


def test_namespace_role_grants():
    assert without(granted_to_children("Role"), *load_held()) == {}


def test_roles_cover_kinds():
    assert without(declared(), *load_held()) == {}


def test_roles_nothing_else():
    everywhere, near = load_held()
    needed = declared(), granted_to_children("ClusterRole"), PROXY
    assert without(everywhere, *needed) == {}
    assert without(near, *needed, granted_to_children("Role")) == {}


def test_cluster_role_writes():
    """Nodes, ClusterRoles and so on are cluster-scoped."""
    everywhere, _near = load_held()
    written = {target for target, verbs in everywhere.items() if verbs - {"get", "list", "watch"}}
    in_none = {(item.group, item.plural) for item in KINDS.values() if not item.is_namespaced}
    in_none |= {(group, f"{resource}{part}") for group, resource in in_none for part in RUNTIME}
    assert written - in_none == {("", "pods/eviction")}


def test_roles_without_wildcards():
    for path in COMPONENT.glob("*role.yaml"):
        assert "*" not in re.findall(r'"?(\*)"?', re.sub(r"#.*", "", path.read_text()))


@pytest.mark.parametrize("kind", OWN)
def test_user_roles_per_kind(kind):
    item = KINDS[kind]
    seen = {}
    for role in ("viewer", "editor", "admin"):
        file = COMPONENT / f"{kind.lower()}_{role}_role.yaml"
        granted = verbs_of(yaml.safe_load(file.read_text())["rules"])
        assert granted[item.group, f"{item.plural}/status"] == {"get"}
        seen[role] = granted[item.group, item.plural]
    assert seen["viewer"] == {"get", "list", "watch"}
    assert seen["viewer"] < seen["editor"] < seen["admin"]
