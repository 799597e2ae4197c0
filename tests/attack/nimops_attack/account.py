# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Attacks with the operator's token outside of its namespaces and objects.

All but the first attack are dry runs, which pass everything that a real request passes.
"""

from __future__ import annotations

import base64
import typing as t

from nimops_harness.account import NAMESPACE as HOME
from nimops_harness.account import POLICY, Account, install_account, token_secret
from nimops_harness.cluster import (
    ACCOUNTS,
    BINDINGS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NIMSERVICES,
    PODS,
    RBAC,
    ROLES,
    SECRETS,
    Api,
    Resource,
    path_of,
)
from nimops_harness.workload import make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack

SYSTEM = ("kube-system", "kube-public", "kube-node-lease")
ADMIN = "attack-administrator"
"""An account of kube-system that may do everything."""

OURS = {"app.kubernetes.io/managed-by": "k8s-nim-operator"}
DRIVER = {"app.kubernetes.io/component": "nvidia-driver"}
SECURITY = {"pod-security.kubernetes.io/enforce": "privileged"}
MERGE = "application/merge-patch+json"
REFUSED = "refused by the policy on the operator's account, or by RBAC"
Try = tuple[str, str]
"""A request, and the reason of its refusal; empty if it was accepted."""


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
    group = "rbac.authorization.k8s.io"
    return {"roleRef": {"apiGroup": group, "kind": kind, "name": role}, "subjects": list(subjects)}


def bodies(namespace: str) -> dict[Resource, Json]:
    """A valid object of each kind that can run, grant or hide something."""
    selector = {"selector": {"matchLabels": {"a": "b"}}, "template": template()}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    job = {"template": template(restartPolicy="Never")}
    backend = {"service": {"name": "a", "port": {"number": 80}}}
    scale = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
    return {
        PODS: {"spec": pod()},
        DEPLOYMENTS: {"spec": selector},
        ("apis/apps/v1", "daemonsets"): {"spec": selector},
        ("apis/apps/v1", "statefulsets"): {"spec": selector | {"serviceName": "a"}},
        ("apis/apps/v1", "replicasets"): {"spec": selector},
        ("api/v1", "replicationcontrollers"): {"spec": {"template": template()}},
        ("apis/batch/v1", "jobs"): {"spec": job},
        ("apis/batch/v1", "cronjobs"): {
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
        },
        SECRETS: {"stringData": {"a": "b"}},
        CONFIG_MAPS: {"data": {"a": "b"}},
        ACCOUNTS: {},
        ("api/v1", "services"): {"spec": {"ports": [{"port": 80}]}},
        ("api/v1", "persistentvolumeclaims"): {"spec": claim},
        ROLES: {"rules": [rule]},
        BINDINGS: bind("nimops-manager-role", subject("default", namespace), kind="ClusterRole"),
        ("apis/networking.k8s.io/v1", "ingresses"): {"spec": {"defaultBackend": backend}},
        ("apis/autoscaling/v2", "horizontalpodautoscalers"): {"spec": scale | {"maxReplicas": 2}},
        NIMSERVICES: make_nimservice("a"),
    }


def owners(kind: str = "NIMService", version: str = "apps.nvidia.com/v1alpha1") -> Json:
    """Metadata with an owner reference, which the API server does not check."""
    uid = "11111111-1111-1111-1111-111111111111"
    owner = {"apiVersion": version, "kind": kind, "name": "a", "uid": uid, "controller": True}
    return {"ownerReferences": [owner]}


def named(body: Json, name: str = "a", **metadata: t.Any) -> Json:
    return {**body, "metadata": {"name": name, **metadata}}


def thief(harness: Harness) -> Account:
    """A client with the operator's token."""
    if "account" not in harness.shared:
        harness.shared["account"] = install_account()
    return t.cast("Account", harness.shared["account"])


def judge(done: t.Collection[Try], fine: str) -> Seen:
    """Each request must be refused for the right reason: an invalid object proves nothing."""
    problems = [f"accepted: {what}" for what, why in done if not why]
    reasons = (POLICY, " cannot ", "not currently held")
    problems += [
        f"{what}: not tried, {why[:200]}"
        for what, why in done
        if why and not any(reason in why for reason in reasons)
    ]
    return Seen.of(problems, f"{len(done)} {fine}")


Tries = t.Callable[[Harness, Account, str], t.Iterator[Try]]


def tries(name: str, fine: str, *, quick: bool = False) -> t.Callable[[Tries], Tries]:
    """Add an attack of these requests; they need no operator, so one side is enough."""

    def add(generate: Tries) -> Tries:
        @attack(f"account-{name}", REFUSED, sides=("prefork",), quick=quick)
        def run(harness: Harness) -> Seen:
            stolen, namespace = thief(harness), harness.namespace(name)
            return judge(list(generate(harness, stolen, namespace)), fine)

        return generate

    return add


# --- Secrets that mint tokens ----------------------------------------------------------------------


@attack("account-cluster-admin", REFUSED, sides=("prefork",), quick=True)
def attack_cluster_admin(harness: Harness) -> Seen:
    """The token of an administrator of kube-system, by a Secret that Kubernetes fills in."""
    stolen, place = thief(harness), path_of(SECRETS, "kube-system", "attack-token")
    cluster = harness.cluster
    cluster.ask("DELETE", place)
    cluster.ask("POST", path_of(ACCOUNTS, "kube-system"), {"metadata": {"name": ADMIN}})
    all_powerful = bind("cluster-admin", subject(ADMIN, "kube-system"), kind="ClusterRole")
    cluster.ask("POST", f"/{RBAC}/clusterrolebindings", named(all_powerful, ADMIN))
    body = token_secret("attack-token", ADMIN)
    why = stolen.refuses("POST", path_of(SECRETS, "kube-system"), body, dry=False)
    if why:
        return Seen(True, f"refused: {why[:160]}")
    try:
        secret = harness.wait_for("a token", lambda: read_token(stolen, place), 30)
        if not secret:
            return Seen(False, "accepted, but Kubernetes minted no token")
        found = Api(secret).get("/api/v1/namespaces/kube-system/secrets")
        return Seen(False, f"cluster-admin: the token reads {len(found['items'])} Secrets there")
    finally:
        cluster.ask("DELETE", place)


def read_token(stolen: Account, place: str) -> str:
    data = stolen.get(place).get("data") or {}
    return base64.b64decode(data.get("token", "")).decode()


@tries("tokens", "ways to mint a token refused")
def mint(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Secrets that mint tokens in all namespaces, by all verbs, and other types of credentials."""
    for place in (*SYSTEM, HOME, namespace):
        for marks in ({}, owners()):
            body = token_secret()
            body["metadata"] |= marks
            yield f"token in {place}", stolen.refuses("POST", path_of(SECRETS, place), body)
            full = {**body, "apiVersion": "v1", "kind": "Secret"}
            yield f"token applied in {place}", stolen.apply(path_of(SECRETS, place, "stolen"), full)
        request: Json = {"spec": {"audiences": []}}
        path = f"{path_of(ACCOUNTS, place, 'default')}/token"
        yield f"TokenRequest in {place}", stolen.refuses("POST", path, request)
    for kind in ("bootstrap.kubernetes.io/token", "kubernetes.io/basic-auth", "of.mine/x"):
        body = named({"type": kind, "stringData": {"username": "a"}}, **owners())
        yield kind, stolen.refuses("POST", path_of(SECRETS, namespace), body)


# --- places ----------------------------------------------------------------------------------------


@tries("places", "objects refused in the namespaces of the system")
def enter_places(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Objects in namespaces of the system and its own, with and without an owner."""
    for place in (*SYSTEM, HOME):
        for resource, body in bodies(place).items():
            forged = [{}, owners()]
            if place in SYSTEM:
                forged += [owners("ClusterPolicy", "nvidia.com/v1"), {"labels": OURS}]
            for marks in forged:
                what = f"{resource[1]} in {place} with {list(marks)}"
                yield what, stolen.refuses("POST", path_of(resource, place), named(body, **marks))
    bound: list[tuple[str, Json]] = [
        ("cluster-admin", {}),
        ("view", {}),
        ("nimops-gpu-role", owners()),
    ]
    for role, marks in bound:
        body = bind(role, subject("default", "default"), kind="ClusterRole")
        path = f"/{RBAC}/clusterrolebindings"
        yield f"{role} bound", stolen.refuses("POST", path, named(body, **marks))
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    body = named({"rules": [rule]}, "attack")
    yield "a ClusterRole", stolen.refuses("POST", f"/{RBAC}/clusterroles", body)


# --- tenants ---------------------------------------------------------------------------------------


@tries("unowned", "objects without an owner refused")
def plant(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Objects in the namespace of a tenant that belong to no resource."""
    other = owners("Deployment", "apps/v1")
    weak = owners()
    weak["ownerReferences"][0]["controller"] = False
    note = {"annotations": {"nimops.nim/owner-uid": "a"}}
    for resource, body in bodies(namespace).items():
        for marks in ({}, {"labels": OURS}, other, weak, note):
            path, what = path_of(resource, namespace), f"{resource[1]} with {marks}"
            yield what, stolen.refuses("POST", path, named(body, **marks))


@tries("foreign", "changes to objects of others refused")
def take(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Objects of a tenant, changed, taken over and deleted."""
    for resource, body in bodies(namespace).items():
        found = harness.cluster.request("POST", path_of(resource, namespace), named(body, "theirs"))
        if resource == DEPLOYMENTS:
            marks = owners("Deployment", "apps/v1") | {"labels": OURS | DRIVER}
            marks["ownerReferences"][0] |= {"name": "theirs", "uid": found["metadata"]["uid"]}
            place = path_of(CONFIG_MAPS, namespace)
            harness.cluster.request("POST", place, named({}, "labeled", **marks))
            harness.cluster.request("POST", place, named({}, "driver", labels=DRIVER))
    other = {"serviceAccountName": "deployer"}
    changes: dict[Resource, Json] = {
        DEPLOYMENTS: {"spec": {"template": {"spec": other}}},
        ("apis/batch/v1", "jobs"): {"spec": {"suspend": True}},
        SECRETS: {"stringData": {"a": "c"}},
        CONFIG_MAPS: {"data": {"a": "c"}},
        ACCOUNTS: {"imagePullSecrets": [{"name": "mine"}]},
        ROLES: {"rules": []},
        BINDINGS: {"subjects": [subject("thief", namespace)]},
        NIMSERVICES: {"spec": {"image": {"repository": "evil"}}},
    }
    for resource in bodies(namespace):
        path = path_of(resource, namespace, "theirs")
        for marks in ({"labels": {"a": "b"}}, {"labels": OURS}, owners()):
            change: Json = {"metadata": marks, **changes.get(resource, {})}
            yield f"{resource[1]} with {list(marks)}", stolen.patch_merge(path, change)
        for marks in ({"labels": OURS}, {"labels": SECURITY}, owners()):
            if resource == NIMSERVICES and marks == {"labels": SECURITY}:
                continue  # metadata of our kinds without an owner
            said = stolen.patch_merge(path, {"metadata": marks})
            yield f"only {list(marks)} of {resource[1]}", said
        yield f"{resource[1]} deleted", stolen.refuses("DELETE", path)
    labeled = path_of(CONFIG_MAPS, namespace, "labeled")
    yield "a child of a Deployment", stolen.patch_merge(labeled, {"metadata": owners()})
    yield "a child of a Deployment deleted", stolen.refuses("DELETE", labeled)
    driver = path_of(CONFIG_MAPS, namespace, "driver")
    yield "what is labeled as a driver", stolen.refuses("DELETE", driver)


@tries("bindings", "bindings to others refused")
def grant(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Permissions for foreign subjects, by bindings with an owner."""
    harness.cluster.request("POST", path_of(ROLES, namespace), named({"rules": []}, "empty"))
    others = (
        subject("default", "kube-system"),
        {"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io"},
    )
    place = path_of(BINDINGS, namespace)
    wide = bind("nimops-manager-role", subject("default", namespace), kind="ClusterRole")
    yield "a ClusterRole", stolen.refuses("POST", place, named(wide, **owners()))
    for who in (*others, subject("default", "default")):
        body = named(bind("empty", who), **owners())
        yield f"a Role for {who}", stolen.refuses("POST", place, body)
    for who in others:
        body = bind("nimops-manager-role", who, kind="ClusterRole")
        body = named(body, **owners("ClusterPolicy", "nvidia.com/v1"))
        said = stolen.refuses("POST", f"/{RBAC}/clusterrolebindings", body)
        yield f"a ClusterRole for {who}", said


@tries("shared-names", "forged contents of shared names refused", quick=True)
def forge(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Shared objects, which need no owner, with other contents."""
    for name in ("nim-cache-role", "other"):
        harness.cluster.request(
            "POST", path_of(ROLES, namespace), named({"rules": []}, name, labels=OURS)
        )
    account, role, binding = "nim-cache-sa", "nim-cache-role", "nim-cache-rolebinding"
    ours = subject(account, namespace)
    for body in (
        bind("nimops-manager-role", ours, kind="ClusterRole"),
        bind("other", ours),
        bind(role, subject("default", namespace)),
        bind(role, ours, subject("default", namespace)),
        bind(role, subject(account, "kube-system")),
        bind(role, {"kind": "User", "name": account, "apiGroup": "rbac.authorization.k8s.io"}),
        bind(role),
    ):
        path = path_of(BINDINGS, namespace)
        yield f"binding {body}", stolen.refuses("POST", path, named(body, binding, labels=OURS))
    good = {
        "apiGroups": ["security.openshift.io"],
        "resources": ["securitycontextconstraints"],
        "resourceNames": ["nonroot"],
        "verbs": ["use"],
    }
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    path = path_of(ROLES, namespace, role)
    yield "role deleted", stolen.refuses("DELETE", path)
    for rules in ([secrets], [good, secrets], [good | {"resourceNames": ["hostmount-anyuid"]}]):
        body = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules}
        yield f"role {rules}", stolen.apply(path, named(body, role, labels=OURS))
    body = named({"imagePullSecrets": [{"name": "a"}]}, account)
    yield "account with Secrets", stolen.refuses("POST", path_of(ACCOUNTS, namespace), body)
    for resource, body in bodies(namespace).items():
        if resource != ACCOUNTS:
            path = path_of(resource, namespace)
            yield f"{resource[1]} {account}", stolen.refuses("POST", path, named(body, account))


@tries("parts", "ways into pods of others refused")
def enter_pods(harness: Harness, stolen: Account, namespace: str) -> t.Iterator[Try]:
    """Subresources of pods, and the policy itself."""
    harness.cluster.request("POST", path_of(PODS, namespace), named({"spec": pod()}, "theirs"))
    path = path_of(PODS, namespace, "theirs")
    debug = {"spec": {"ephemeralContainers": [{"name": "b", "image": "b"}]}}
    yield (
        "ephemeral container",
        stolen.refuses("PATCH", f"{path}/ephemeralcontainers", debug, MERGE),
    )
    for part in ("exec", "attach", "portforward", "proxy"):
        query = "?command=id&container=a" if part in ("exec", "attach") else ""
        yield part, stolen.refuses("POST", f"{path}/{part}{query}", {})
    binding = {"target": {"kind": "Node", "name": "a"}, "metadata": {"name": "theirs"}}
    yield "binding", stolen.refuses("POST", f"{path}/binding", binding)
    scale = f"{path_of(DEPLOYMENTS, namespace, 'a')}/scale"
    yield "scale", stolen.refuses("PATCH", scale, {"spec": {"replicas": 9}}, MERGE)
    group = "apis/admissionregistration.k8s.io/v1"
    for resource in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
        name = f"/{group}/{resource}/nimops-operator-account"
        yield f"{resource} deleted", stolen.refuses("DELETE", name)
