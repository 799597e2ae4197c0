# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Requests with the operator's token outside of its namespaces and objects; each must be refused.

All but the first test are dry runs, which pass everything that a real request passes.
`test_operator_account.py` has the requests that the operator makes.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pytest
from nimops_account import NAMESPACE as HOME
from nimops_account import POLICY, Account, token_secret
from nimops_harness.cluster import Api, Json, path_of
from nimops_harness.workload import create_namespace, discard_resources, make_nimservice

SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
ADMIN = "attack-administrator"
"""An account of kube-system that may do everything."""

GROUP = "rbac.authorization.k8s.io"
READ_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
OURS = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
DRIVER = {"app.kubernetes.io/component": "nvidia-driver"}
SECURITY = {"pod-security.kubernetes.io/enforce": "privileged"}
REASONS = (POLICY, " cannot ", "not currently held")
"""A refusal has one of these: an invalid object proves nothing."""
CLUSTER_BINDINGS = path_of("ClusterRoleBinding", "")
Try = tuple[str, str, str, Json | None]
"""A request: what it is, POST, DELETE, MERGE or APPLY, path, and body."""


def pod(account: str = "default") -> Json:
    return {
        "serviceAccountName": account,
        "containers": [{"name": "a", "image": "a", "securityContext": {"privileged": True}}],
    }


def template(**more: t.Any) -> Json:
    return {"metadata": {"labels": {"a": "b"}}, "spec": pod() | more}


def subject(name: str, namespace: str) -> Json:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def bind(role: str, *subjects: Json, kind: str = "Role") -> Json:
    return {"roleRef": {"apiGroup": GROUP, "kind": kind, "name": role}, "subjects": list(subjects)}


def bodies(namespace: str) -> dict[str, Json]:
    """A valid object of each kind that can run, grant or hide something."""
    selector = {"selector": {"matchLabels": {"a": "b"}}, "template": template()}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    job = {"template": template(restartPolicy="Never")}
    backend = {"service": {"name": "a", "port": {"number": 80}}}
    scale = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
    return {
        "Pod": {"spec": pod()},
        "Deployment": {"spec": selector},
        "DaemonSet": {"spec": selector},
        "StatefulSet": {"spec": selector | {"serviceName": "a"}},
        "ReplicaSet": {"spec": selector},
        "ReplicationController": {"spec": {"template": template()}},
        "Job": {"spec": job},
        "CronJob": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}},
        "Secret": {"stringData": {"a": "b"}},
        "ConfigMap": {"data": {"a": "b"}},
        "ServiceAccount": {},
        "Service": {"spec": {"ports": [{"port": 80}]}},
        "PersistentVolumeClaim": {"spec": claim},
        "Role": {"rules": [READ_SECRETS]},
        "RoleBinding": bind(
            "nimops-manager-role", subject("default", namespace), kind="ClusterRole"
        ),
        "Ingress": {"spec": {"defaultBackend": backend}},
        "HorizontalPodAutoscaler": {"spec": scale | {"maxReplicas": 2}},
        "NIMService": make_nimservice("a"),
    }


def owners(kind: str = "NIMService", version: str = "apps.nvidia.com/v1alpha1") -> Json:
    """Metadata with an owner reference, which the API server does not check."""
    uid = "11111111-1111-1111-1111-111111111111"
    owner = {"apiVersion": version, "kind": kind, "name": "a", "uid": uid, "controller": True}
    return {"ownerReferences": [owner]}


def named(body: Json, name: str = "a", **metadata: t.Any) -> Json:
    return {**body, "metadata": {"name": name, **metadata}}


@dataclass(frozen=True)
class Tenant:
    """The namespace of a tenant, as an administrator sees it."""

    api: Api
    namespace: str

    def path(self, kind: str, name: str = "") -> str:
        return path_of(kind, self.namespace, name)

    def plant(self, kind: str, name: str, body: Json | None = None, **metadata: t.Any) -> Json:
        """Create an object that is not the operator's."""
        return self.api.request("POST", self.path(kind), named(body or {}, name, **metadata))


@pytest.fixture
def tenant(admin: Api, request: pytest.FixtureRequest) -> t.Iterator[Tenant]:
    namespace = "admission-" + request.node.name.partition("[")[2].rstrip("]").replace("_", "-")
    create_namespace(admin, namespace)
    yield Tenant(admin, namespace)
    discard_resources(admin, namespace)
    admin.request("DELETE", path_of("Namespace", "", namespace))


# --- Secrets that mint tokens ----------------------------------------------------------------------


def test_cluster_admin_token(account: Account, admin: Api) -> None:
    """The token of an administrator of kube-system, by a Secret that Kubernetes fills in."""
    place = path_of("Secret", "kube-system", "attack-token")
    admin.ask("DELETE", place)
    admin.ask("POST", path_of("ServiceAccount", "kube-system"), {"metadata": {"name": ADMIN}})
    all_powerful = bind("cluster-admin", subject(ADMIN, "kube-system"), kind="ClusterRole")
    admin.ask("POST", CLUSTER_BINDINGS, named(all_powerful, ADMIN))
    try:
        body = token_secret("attack-token", ADMIN)
        why = account.refuses("POST", place.rpartition("/")[0], body, dry=False)
        assert POLICY in why, "accepted: with the token, everything in the cluster can be read"
    finally:
        for path in (place, f"{CLUSTER_BINDINGS}/{ADMIN}", path_of("ServiceAccount", "kube-system", ADMIN)):  # fmt: skip
            admin.ask("DELETE", path)


def mint(tenant: Tenant) -> t.Iterator[Try]:
    """Secrets that mint tokens in all namespaces, by all verbs, and other types of credentials."""
    for place in (*SYSTEM, HOME, tenant.namespace):
        for marks in ({}, owners()):
            body = token_secret()
            body["metadata"] |= marks
            yield f"token in {place}", "POST", path_of("Secret", place), body
            full = {**body, "apiVersion": "v1", "kind": "Secret"}
            yield f"token applied in {place}", "APPLY", path_of("Secret", place, "stolen"), full
        path = f"{path_of('ServiceAccount', place, 'default')}/token"
        yield f"TokenRequest in {place}", "POST", path, {"spec": {"audiences": []}}
    for kind in ("bootstrap.kubernetes.io/token", "kubernetes.io/basic-auth", "of.mine/x"):
        body = named({"type": kind, "stringData": {"username": "a"}}, **owners())
        yield kind, "POST", tenant.path("Secret"), body


# --- places ----------------------------------------------------------------------------------------


def enter_places(tenant: Tenant) -> t.Iterator[Try]:
    """Objects in namespaces of the system and its own, with and without an owner."""
    for place in (*SYSTEM, HOME):
        forged: list[Json] = [{}, owners()]
        if place in SYSTEM:
            forged += [owners("ClusterPolicy", "nvidia.com/v1"), {"labels": OURS}]
        for kind, body in bodies(place).items():
            for marks in forged:
                what = f"{kind} in {place} with {list(marks)}"
                yield what, "POST", path_of(kind, place), named(body, **marks)
    for role, marks in (("cluster-admin", {}), ("view", {}), ("nimops-gpu-role", owners())):
        body = bind(role, subject("default", "default"), kind="ClusterRole")
        yield f"{role} bound", "POST", CLUSTER_BINDINGS, named(body, **marks)
    body = named({"rules": [READ_SECRETS]}, "attack")
    yield "a ClusterRole", "POST", path_of("ClusterRole", ""), body


# --- tenants ---------------------------------------------------------------------------------------


def plant(tenant: Tenant) -> t.Iterator[Try]:
    """Objects in the namespace of a tenant that belong to no resource."""
    other = owners("Deployment", "apps/v1")
    weak = owners()
    weak["ownerReferences"][0]["controller"] = False
    note = {"annotations": {"nimops.nim/owner-uid": "a"}}
    for kind, body in bodies(tenant.namespace).items():
        for marks in ({}, {"labels": OURS}, other, weak, note):
            what = f"{kind} with {marks}"
            yield what, "POST", tenant.path(kind), named(body, **marks)


def take(tenant: Tenant) -> t.Iterator[Try]:
    """Objects of a tenant, changed, taken over and deleted."""
    theirs = {
        kind: tenant.plant(kind, "theirs", body) for kind, body in bodies(tenant.namespace).items()
    }
    marks = owners("Deployment", "apps/v1") | {"labels": OURS | DRIVER}
    uid = theirs["Deployment"]["metadata"]["uid"]
    marks["ownerReferences"][0] |= {"name": "theirs", "uid": uid}
    tenant.plant("ConfigMap", "labeled", **marks)
    tenant.plant("ConfigMap", "driver", labels=DRIVER)
    changes: dict[str, Json] = {
        "Deployment": {"spec": {"template": {"spec": {"serviceAccountName": "deployer"}}}},
        "Job": {"spec": {"suspend": True}},
        "Secret": {"stringData": {"a": "c"}},
        "ConfigMap": {"data": {"a": "c"}},
        "ServiceAccount": {"imagePullSecrets": [{"name": "mine"}]},
        "Role": {"rules": []},
        "RoleBinding": {"subjects": [subject("thief", tenant.namespace)]},
        "NIMService": {"spec": {"image": {"repository": "evil"}}},
    }
    for kind in theirs:
        path = tenant.path(kind, "theirs")
        for marks in ({"labels": {"a": "b"}}, {"labels": OURS}, owners()):
            change: Json = {"metadata": marks, **changes.get(kind, {})}
            yield f"{kind} with {list(marks)}", "MERGE", path, change
        for marks in ({"labels": OURS}, {"labels": SECURITY}, owners()):
            if kind == "NIMService" and marks == {"labels": SECURITY}:
                continue  # metadata of our kinds without an owner
            yield f"only {list(marks)} of {kind}", "MERGE", path, {"metadata": marks}
        yield f"{kind} deleted", "DELETE", path, None
    labeled, driver = tenant.path("ConfigMap", "labeled"), tenant.path("ConfigMap", "driver")
    yield "a child of a Deployment", "MERGE", labeled, {"metadata": owners()}
    yield "a child of a Deployment deleted", "DELETE", labeled, None
    yield "what is labeled as a driver", "DELETE", driver, None


def grant(tenant: Tenant) -> t.Iterator[Try]:
    """Permissions for foreign subjects, by bindings with an owner."""
    tenant.plant("Role", "empty", {"rules": []})
    others = (
        subject("default", "kube-system"),
        {"kind": "User", "name": "mallory", "apiGroup": GROUP},
        {"kind": "Group", "name": "system:authenticated", "apiGroup": GROUP},
    )
    place = tenant.path("RoleBinding")
    wide = bind("nimops-manager-role", subject("default", tenant.namespace), kind="ClusterRole")
    yield "a ClusterRole", "POST", place, named(wide, **owners())
    for who in (*others, subject("default", "default")):
        yield f"a Role for {who}", "POST", place, named(bind("empty", who), **owners())
    for who in others:
        body = bind("nimops-manager-role", who, kind="ClusterRole")
        body = named(body, **owners("ClusterPolicy", "nvidia.com/v1"))
        yield f"a ClusterRole for {who}", "POST", CLUSTER_BINDINGS, body


def forge(tenant: Tenant) -> t.Iterator[Try]:
    """Shared objects, which need no owner, with other contents."""
    namespace = tenant.namespace
    for name in ("nim-cache-role", "other"):
        tenant.plant("Role", name, {"rules": []}, labels=OURS)
    account, role, binding = "nim-cache-sa", "nim-cache-role", "nim-cache-rolebinding"
    ours = subject(account, namespace)
    for body in (
        bind("nimops-manager-role", ours, kind="ClusterRole"),
        bind("other", ours),
        bind(role, subject("default", namespace)),
        bind(role, ours, subject("default", namespace)),
        bind(role, subject(account, "kube-system")),
        bind(role, {"kind": "User", "name": account, "apiGroup": GROUP}),
        bind(role),
    ):
        whole = named(body, binding, labels=OURS)
        yield f"binding {body}", "POST", tenant.path("RoleBinding"), whole
    good = {
        "apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"],
        "resourceNames": ["nonroot"],
        "verbs": ["use"],
    }
    path = tenant.path("Role", role)
    yield "role deleted", "DELETE", path, None
    wider = good | {"resourceNames": ["hostmount-anyuid"]}
    for rules in ([READ_SECRETS], [good, READ_SECRETS], [wider]):
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "rules": rules}
        yield f"role {rules}", "APPLY", path, named(body, role, labels=OURS)
    body = named({"imagePullSecrets": [{"name": "a"}]}, account)
    yield "account with Secrets", "POST", tenant.path("ServiceAccount"), body
    for kind, body in bodies(namespace).items():
        if kind != "ServiceAccount":
            what = f"{kind} {account}"
            yield what, "POST", tenant.path(kind), named(body, account)


def enter_pods(tenant: Tenant) -> t.Iterator[Try]:
    """Subresources of pods, and the policy itself."""
    tenant.plant("Pod", "theirs", {"spec": pod()})
    path = tenant.path("Pod", "theirs")
    debug = {"spec": {"ephemeralContainers": [{"name": "b", "image": "b"}]}}
    yield "ephemeral container", "MERGE", f"{path}/ephemeralcontainers", debug
    for part in ("exec", "attach", "portforward", "proxy"):
        query = "?command=id&container=a" if part in ("exec", "attach") else ""
        yield part, "POST", f"{path}/{part}{query}", {}
    binding = {"target": {"kind": "Node", "name": "a"}, "metadata": {"name": "theirs"}}
    yield "binding", "POST", f"{path}/binding", binding
    scale = f"{tenant.path('Deployment', 'a')}/scale"
    yield "scale", "MERGE", scale, {"spec": {"replicas": 9}}
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        yield f"{kind} deleted", "DELETE", path_of(kind, "", f"nimops-{POLICY}"), None


def send(account: Account, method: str, path: str, body: Json | None) -> str:
    """The reason why a request is refused; empty if it is not."""
    if method == "APPLY":
        return account.apply(path, body or {})
    if method == "MERGE":
        return account.patch_merge(path, body or {})
    return account.refuses(method, path, body)


GROUPS = (mint, enter_places, plant, take, grant, forge, enter_pods)


@pytest.mark.parametrize("tries", GROUPS, ids=lambda item: item.__name__)
def test_forbidden_requests(account: Account, tenant: Tenant, tries: t.Any) -> None:
    wrong, count = [], 0
    for what, method, path, body in tries(tenant):
        count += 1
        why = send(account, method, path, body)
        if not any(reason in why for reason in REASONS):
            wrong.append(f"{what}: {why[:200] or 'accepted'}")
    assert wrong == []
    assert count
