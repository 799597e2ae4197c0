# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator has exactly the permissions that our code uses."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nimops_kustomize as kustomize
import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import GROUP, KINDS
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_names, kind_of
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.desired import (
    FEATURES,
)

ROOT = Path(__file__).resolve().parents[3]
RBAC = ROOT / "config" / "rbac"
GPU = ROOT / "config" / "components" / "gpu"
OWN = {kind for kind, item in KINDS.items() if item.group == GROUP}
SPECIAL = {"Event": {"list", "create", "patch"}, "Node": {"list"}, "ResourceClaim": {"list"}}
"""Kinds whose objects are never read by name, with their verbs."""

DEFAULT = [name for name in kind_names() if kind_of({"kind": name}).component in {"", "nemo"}]
"""The kinds of config/default; test_component_rbac.py checks the others."""

USED = {access.kind for name in DEFAULT for access in kind_of({"kind": name}).access} | OWN
"""Kinds that our kinds declare to access."""

PAST_THE_CACHE = {
    entry["kind"]
    for watch in yaml.safe_load((ROOT / "watches.yaml").read_text())
    for entry in watch["blacklist"]
}
WORKLOADS = {"ComputeDomain", "ConfigMap", "Deployment", "InferenceService", "LeaderWorkerSet"}
PICKER = {"Role", "RoleBinding", "Service", "ServiceAccount", "InferencePool"}
PRUNED = {kind for kind, *_ in FEATURES} | WORKLOADS | PICKER
PRUNED |= {"Pod", "PodDisruptionBudget", "Job", "NIMService", "Secret"}
"""Kinds that a `desired` may list as unwanted."""

GRANT = "to grant it, one must have it"
READ_GRANT = dict.fromkeys(("get", "list", "watch"), GRANT)
FULL_GRANT = READ_GRANT | dict.fromkeys(("create", "update", "patch", "delete"), GRANT)

BESIDES = {
    **{
        (GROUP, f"{KINDS[kind].plural}{part}"): verbs
        for kind in DEFAULT
        for part, verbs in {
            "": {"update": "the runtime adds and removes the finalizer"},
            "/finalizers": {"update": "owner references that block deletion"},
            "/status": {
                "patch": "report",
                "update": "the runtime's own words on a bad reconcile-period annotation",
            },
        }.items()
    },
    ("", "pods/log"): {"get": "the model manifest of a probe pod"},
    ("security.openshift.io", "securitycontextconstraints"): {"use": GRANT},
    ("", "pods"): dict.fromkeys(("list", "watch"), "nimops-apiproxy"),
    ("", "secrets"): {"list": GRANT, "watch": GRANT},
    ("inference.networking.k8s.io", "inferenceobjectives"): READ_GRANT,
    ("inference.networking.x-k8s.io", "inferenceobjectives"): READ_GRANT,
    ("inference.networking.x-k8s.io", "inferencemodelrewrites"): READ_GRANT,
    ("inference.networking.x-k8s.io", "inferencepools"): READ_GRANT,
    ("coordination.k8s.io", "leases"): dict.fromkeys(("get", "create", "update"), GRANT),
    ("", "configmaps"): {"list": GRANT, "watch": GRANT},
    ("", "events"): dict.fromkeys(("get", "watch"), GRANT),
    ("", "persistentvolumeclaims"): {"delete": GRANT},
    ("batch", "jobs"): {"update": GRANT},
    ("batch", "jobs/status"): READ_GRANT,
    ("batch.volcano.sh", "jobs"): FULL_GRANT,
    ("batch.volcano.sh", "jobs/status"): READ_GRANT,
    ("nodeinfo.volcano.sh", "numatopologies"): READ_GRANT,
    **{
        (f"scheduling.{group}", resource): READ_GRANT
        for group in ("incubator.k8s.io", "volcano.sh")
        for resource in ("podgroups", "queues", "queues/status")
    },
    ("run.ai", "runaijobs"): FULL_GRANT,
    ("run.ai", "trainingworkloads"): FULL_GRANT,
    ("nvidia.com", "nemoentityhandlers"): FULL_GRANT,
    ("nvidia.com", "nemotrainingjobs"): FULL_GRANT,
    ("nvidia.com", "nemotrainingjobs/status"): FULL_GRANT,
}
"""Permissions that the table of kinds does not contain, with a reason for each verb."""


def load_rules(name: str) -> list[dict]:
    return yaml.safe_load((RBAC / name).read_text())["rules"]


def load_held() -> list[dict]:
    """The rules of the operator's own roles."""
    return [*load_rules("role.yaml"), *load_rules("node_role.yaml")]


def list_granted(rules: list[dict]) -> dict[tuple[str, str], set[str]]:
    granted: dict[tuple[str, str], set[str]] = {}
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                granted.setdefault((group, resource), set()).update(rule["verbs"])
    return granted


def needed_verbs(kind: str) -> set[str]:
    if kind in SPECIAL:
        return set(SPECIAL[kind])
    reads = {"get"} if kind in PAST_THE_CACHE else {"get", "list", "watch"}
    if kind in OWN and kind not in PRUNED:
        return reads | {"patch", "update"}
    written = {"create", "patch", "update"} if kind in OWN else {"create", "patch"}
    return reads | written | ({"delete"} if kind in PRUNED else set())


def resource_of(kind: str) -> tuple[str, str]:
    return KINDS[kind].group, KINDS[kind].plural


@pytest.mark.parametrize("kind", sorted(USED))
def test_manager_role_per_kind(kind):
    resource = resource_of(kind)
    granted = list_granted(load_held()).get(resource)
    assert granted == needed_verbs(kind) | set(BESIDES.get(resource, {}))


@pytest.mark.parametrize(("resource", "verbs"), BESIDES.items(), ids=str)
def test_manager_role_general_rules(resource, verbs):
    assert set(verbs) <= list_granted(load_held()).get(resource, set())


def test_manager_role_nothing_else():
    known = {resource_of(kind) for kind in USED} | set(BESIDES)
    granted = list_granted(load_held())
    assert set(granted) - known == set()
    extra = {
        resource: verbs - set(BESIDES.get(resource, {})) for resource, verbs in granted.items()
    }
    for kind in USED:
        extra[resource_of(kind)] -= needed_verbs(kind)
    assert {resource: verbs for resource, verbs in extra.items() if verbs} == {}


def test_namespaced_rules_without_cluster_scope():
    """The overlay for one namespace makes it a Role, which cannot grant cluster-scoped kinds."""
    cluster_wide = {"nodes"}
    assert not cluster_wide & {
        resource for _group, resource in list_granted(load_rules("role.yaml"))
    }
    assert list_granted(load_rules("node_role.yaml")) == {("", "nodes"): {"list"}}


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")
def test_namespaced_overlay_equals_role():
    built = kustomize.build(kustomize.copy_config() / "overlays/namespaced")
    # Roles for users are not bound to anyone.
    bound = {
        (item["roleRef"]["kind"], item["roleRef"]["name"]): item
        for item in built
        if item["kind"].endswith("Binding") and "roleRef" in item
    }
    roles = {
        name: next(item for item in built if (item["kind"], item["metadata"]["name"]) == name)
        for name in bound
    }
    assert sorted(bound) == [
        ("Role", "nimops-leader-election-role"),
        ("Role", "nimops-manager-role"),
    ]
    manager = "Role", "nimops-manager-role"
    assert roles[manager]["rules"] == load_rules("role.yaml")
    assert {item["metadata"]["namespace"] for item in (bound[manager], roles[manager])} == {"nim"}
    [deployment] = [item for item in built if item["kind"] == "Deployment"]
    account = {
        "kind": "ServiceAccount",
        "name": deployment["spec"]["template"]["spec"]["serviceAccountName"],
        "namespace": deployment["metadata"]["namespace"],
    }
    assert [item["subjects"] for item in bound.values()] == [[account], [account]]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "WATCH_NAMESPACE", "value": "nim"} in container["env"]


@pytest.mark.parametrize("kind", sorted(OWN))
def test_runtime_watch_rules(kind):
    """It lists resources, removes annotations from them, and creates events."""
    held = list_granted(load_rules("role.yaml"))
    assert {"list", "patch"} <= held[resource_of(kind)]
    assert "create" in held["", "events"]


@pytest.mark.parametrize(
    "path", [*RBAC.glob("*role.yaml"), *GPU.glob("*role.yaml")], ids=lambda p: p.name
)
def test_roles_without_wildcards(path):
    assert "*" not in re.findall(r'"?(\*)"?', re.sub(r"#.*", "", path.read_text()))


def test_rule_comments():
    lines = (RBAC / "role.yaml").read_text().splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("  - apiGroups")]
    assert len(starts) == len(load_rules("role.yaml"))
    assert [lines[n] for n in starts if not lines[n - 1].lstrip().startswith("#")] == []


@pytest.mark.parametrize("kind", kind_names())
@pytest.mark.parametrize(
    ("role", "verbs"),
    [
        (
            "admin",
            {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"},
        ),
        ("editor", {"get", "list", "watch", "create", "update", "patch", "delete"}),
        ("viewer", {"get", "list", "watch"}),
    ],
)
def test_user_roles_per_kind(kind, role, verbs):
    folder = GPU if kind_of({"kind": kind}).component == "gpu" else RBAC
    item = KINDS[kind]
    rules = yaml.safe_load((folder / f"{kind.lower()}_{role}_role.yaml").read_text())["rules"]
    granted = list_granted(rules)
    assert granted[item.group, item.plural] == verbs
    assert granted[item.group, f"{item.plural}/status"] == {"get"}
    scaling = verbs & {"get", "update", "patch"} if kind_of({"kind": kind}).is_scalable else None
    assert granted.get((item.group, f"{item.plural}/scale")) == scaling
