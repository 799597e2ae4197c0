# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""With each component, the operator has exactly the permissions that its kinds use and grant."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import KINDS
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.app import PolicyApp
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.desired import (
    desired as desired_stack,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import desired

CONFIG = Path(__file__).resolve().parents[3] / "config"
GROUP = "apps.nvidia.com"
SCC = ("security.openshift.io", "securitycontextconstraints")
IMAGE = {"repository": "registry.example/x", "tag": "1"}
READ = {"get", "list", "watch"}
FULL = READ | {"create", "update", "patch", "delete"}

OF_RUNTIME = {
    "": READ | {"patch"},
    "/status": {"patch", "update"},
    "/finalizers": {"update"},
}
OF_ALL = {("", "events"): {"create", "patch"}, ("", "pods"): {"list", "watch"}}
"""Permissions for events of custom resources, and for nimops-apiproxy."""
PAST_ACCESS = {("", "pods/log"): {"get"}, SCC: {"use"}}

Verbs = dict[tuple[str, str], set[str]]

ONLY_NEMO: Verbs = {
    ("", "configmaps"): {"list", "watch"},
    ("", "events"): {"get", "watch"},
    ("", "persistentvolumeclaims"): {"delete"},
    ("", "secrets"): {"list", "watch", "delete"},
    ("batch", "jobs"): {"update"},
    ("batch", "jobs/status"): READ,
    ("batch.volcano.sh", "jobs"): FULL,
    ("batch.volcano.sh", "jobs/status"): READ,
    ("nodeinfo.volcano.sh", "numatopologies"): READ,
    ("nvidia.com", "nemoentityhandlers"): FULL,
    ("nvidia.com", "nemotrainingjobs"): FULL,
    ("nvidia.com", "nemotrainingjobs/status"): FULL,
    ("run.ai", "runaijobs"): FULL,
    ("run.ai", "trainingworkloads"): FULL,
    **{
        (f"scheduling.{group}", resource): READ
        for group in ("incubator.k8s.io", "volcano.sh")
        for resource in ("podgroups", "queues", "queues/status")
    },
    **{
        (GROUP, f"{plural}{part}"): verbs
        for plural in (
            "nemocustomizers",
            "nemodatastores",
            "nemoentitystores",
            "nemoevaluators",
            "nemoguardrails",
        )
        for part, verbs in (OF_RUNTIME | {"": READ | {"patch", "update"}}).items()
    },
}
"""docs/operate/rbac.md has the same list for readers."""


def verbs_of(rules: list[dict]) -> Verbs:
    found: Verbs = {}
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def union(*sides: Verbs) -> Verbs:
    found: Verbs = {}
    for side in sides:
        for target, verbs in side.items():
            found.setdefault(target, set()).update(verbs)
    return found


def without(verbs: Verbs, *others: Verbs) -> Verbs:
    other = union(*others)
    left = {target: found - other.get(target, set()) for target, found in verbs.items()}
    return {target: found for target, found in left.items() if found}


def load_rules(path: str) -> list[dict]:
    loaded = yaml.safe_load((CONFIG / path).read_text())
    if isinstance(loaded, dict):
        return loaded["rules"]
    if loaded[0]["op"] == "replace":
        return loaded[0]["value"]
    return [patch["value"] for patch in loaded]


def declared(names: list[str]) -> Verbs:
    """The declared accesses of the kinds, and the runtime's accesses to them."""
    found: Verbs = {}
    for name in names:
        kind = kind_of({"kind": name})
        for part, verbs in OF_RUNTIME.items():
            found.setdefault((kind.group, f"{kind.plural}{part}"), set()).update(verbs)
        if kind.has_finalizer:
            found[kind.group, kind.plural].add("update")
        for access in kind.access:
            item = KINDS[access.kind]
            reads = READ if item.is_cached else {"get"}
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


def granted_by_services() -> Verbs:
    resource = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "ns"},
        "spec": {
            "image": IMAGE,
            "storage": {"emptyDir": {}},
            "expose": {
                "router": {
                    "eppConfig": {
                        "containerSpec": {"image": IMAGE, "args": ["--ha-enable-leader-election"]},
                        "config": {},
                    }
                }
            },
        },
    }
    children = [child.manifest for child in desired(NIMServiceApp(resource, Observed({}))).children]
    roles = [item for item in children if item["kind"] == "Role"]
    assert [item["metadata"]["name"] for item in roles] == ["llm", "llm-epp"]
    return verbs_of([rule for item in roles for rule in item["rules"]])


def granted_by_nemo(names: list[str]) -> Verbs:
    """The Roles of all NeMo kinds, with each scheduler."""
    found: Verbs = {}
    samples = [yaml.safe_load(file.read_text()) for file in CONFIG.glob("samples/nemo_*.yaml")]
    assert {sample["kind"] for sample in samples} == set(names)
    for resource in samples:
        for scheduler in ("volcano", "runai"):
            resource["spec"]["scheduler"] = {"type": scheduler}
            grants = kind_of(resource).app(resource, Observed({})).grants()
            found = union(found, verbs_of([grant.role_rule() for grant in grants]))
    return found


def names_of(component: str) -> list[str]:
    return [name for name in kind_names() if kind_of({"kind": name}).component == component]


def needed(*, with_nemo: bool) -> Verbs:
    nim = union(declared(names_of("")), granted_by_services(), OF_ALL, PAST_ACCESS)
    if not with_nemo:
        return nim
    nemo = names_of("nemo")
    return union(nim, declared(nemo), granted_by_nemo(nemo))


def held(*, with_nemo: bool) -> Verbs:
    path = "rbac/role.yaml" if with_nemo else "components/without-nemo/role.yaml"
    return verbs_of([*load_rules(path), *load_rules("rbac/node_role.yaml")])


@pytest.mark.parametrize("with_nemo", [True, False])
def test_nemo_rules_cover_kinds(with_nemo):
    assert without(needed(with_nemo=with_nemo), held(with_nemo=with_nemo)) == {}


@pytest.mark.parametrize("with_nemo", [True, False])
def test_nemo_rules_nothing_else(with_nemo):
    assert without(held(with_nemo=with_nemo), needed(with_nemo=with_nemo)) == {}


def test_without_nemo_removed_verbs():
    assert without(held(with_nemo=True), held(with_nemo=False)) == ONLY_NEMO
    assert without(held(with_nemo=False), held(with_nemo=True)) == {}


def test_nemo_component_restored_verbs():
    assert verbs_of(load_rules("components/nemo/role.yaml")) == ONLY_NEMO


def test_nemo_cluster_scoped_rules():
    """The role for the cluster-scoped kinds is the same without NeMo services."""
    scoped = {kind for kind, item in KINDS.items() if not item.is_namespaced}
    for name in names_of("nemo"):
        assert not scoped & {access.kind for access in kind_of({"kind": name}).access}


@pytest.mark.parametrize("role", ["rbac/role.yaml", "components/without-nemo/role.yaml"])
def test_security_constraints(role):
    names = [rule["resourceNames"] for rule in load_rules(role) if "use" in rule["verbs"]]
    assert names == [["anyuid", "hostmount-anyuid", "nonroot"]]


def test_nemo_kinds_count():
    assert len(names_of("nemo")) == 5


def test_account_policy_covers_nemo():
    loaded = yaml.safe_load_all((CONFIG / "admission/operator_account.yaml").read_text())
    [policy] = [item for item in loaded if item["kind"] == "ValidatingAdmissionPolicy"]
    checked = {
        (group, resource)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    own = {(GROUP, f"{kind_of({'kind': name}).plural}") for name in names_of("nemo")}
    parts = {(group, f"{plural}{part}") for group, plural in own for part in OF_RUNTIME if part}
    written = {target for target, verbs in ONLY_NEMO.items() if verbs & (FULL - READ)}
    assert len(written - parts) > 10
    assert written - parts - checked == set()


GPU = CONFIG / "components/gpu"
PROXY = {("", "nodes"): {"list", "watch"}}
"""nimops-apiproxy reads nodes."""


def load_gpu() -> tuple[Verbs, Verbs]:
    """The operator's permissions in the whole cluster, and in its own namespace."""
    everywhere, near = yaml.safe_load_all((GPU / "role.yaml").read_text())
    return verbs_of(everywhere["rules"]), verbs_of(near["rules"])


def granted_by_stack(kind: str) -> Verbs:
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy", "uid": "u"},
        "spec": {
            "dcgmExporter": {"enablePodLabels": True},
            "nodeStatusExporter": {"enabled": True},
        },
    }
    wanted = desired_stack(PolicyApp(policy, Observed({}))).children
    roles = [child.manifest for child in wanted if child.manifest["kind"] == kind]
    assert roles
    return verbs_of([rule for role in roles for rule in role["rules"]])


def test_gpu_cluster_role_grants():
    everywhere, _near = load_gpu()
    assert without(granted_by_stack("ClusterRole"), everywhere) == {}


def test_gpu_namespace_role_grants():
    assert without(granted_by_stack("Role"), *load_gpu()) == {}


def test_gpu_roles_cover_kinds():
    assert without(declared(names_of("gpu")), *load_gpu()) == {}


def test_gpu_roles_nothing_else():
    everywhere, near = load_gpu()
    needed = declared(names_of("gpu")), granted_by_stack("ClusterRole"), PROXY
    assert without(everywhere, *needed) == {}
    assert without(near, *needed, granted_by_stack("Role")) == {}


def test_gpu_cluster_role_writes():
    """Nodes, ClusterRoles and so on are cluster-scoped."""
    everywhere, _near = load_gpu()
    written = {target for target, verbs in everywhere.items() if verbs - {"get", "list", "watch"}}
    in_none = {(item.group, item.plural) for item in KINDS.values() if not item.is_namespaced}
    in_none |= {(group, f"{resource}{part}") for group, resource in in_none for part in OF_RUNTIME}
    assert written - in_none == {("", "pods/eviction")}
