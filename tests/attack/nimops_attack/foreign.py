# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The family *foreign*: children that already exist and have another owner.

Nothing that the operator writes may refer to them: a pod would run with their account, a binding
would grant their role. `tests/unit/plugins/module_utils/test_foreign.py` does the same with all
kinds on a simulated cluster.
"""

from __future__ import annotations

import copy
import json
import typing as t

from nimops_harness.cluster import (
    ACCOUNTS,
    BINDINGS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    NIMSERVICES,
    PODS,
    ROLES,
    SECRETS,
    SERVICES,
    path_of,
)
from nimops_harness.mentions import mentions
from nimops_harness.workload import make_nimcache, make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack, path_to

COLLECTIONS = {
    "ConfigMap": CONFIG_MAPS,
    "Deployment": DEPLOYMENTS,
    "HTTPRoute": ("apis/gateway.networking.k8s.io/v1", "httproutes"),
    "HorizontalPodAutoscaler": ("apis/autoscaling/v2", "horizontalpodautoscalers"),
    "Ingress": ("apis/networking.k8s.io/v1", "ingresses"),
    "Job": ("apis/batch/v1", "jobs"),
    "LeaderWorkerSet": ("apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "NIMService": NIMSERVICES,
    "PersistentVolumeClaim": ("api/v1", "persistentvolumeclaims"),
    "Pod": PODS,
    "ResourceClaimTemplate": ("apis/resource.k8s.io/v1", "resourceclaimtemplates"),
    "Role": ROLES,
    "RoleBinding": BINDINGS,
    "Secret": SECRETS,
    "Service": SERVICES,
    "ServiceAccount": ACCOUNTS,
}
"""Collections of children, in the order in which they are created."""

_KEPT = ("apiVersion", "kind", "spec", "data", "rules", "roleRef", "subjects", "type")
_OURS = "app.kubernetes.io/managed-by"
_MADE_BY_POD_CONTROLLERS = ("Pod",)


def list_objects(harness: Harness, namespace: str) -> list[Json]:
    """The objects of a namespace that we may have made."""
    found = []
    for kind, resource in COLLECTIONS.items():
        answer = harness.cluster.ask("GET", path_of(resource, namespace))
        version = resource[0].partition("/")[2]
        found += [
            {"apiVersion": version, **item, "kind": kind} for item in answer.body.get("items") or []
        ]
    return found


def is_ours(item: Json) -> bool:
    """Whether the operator wrote it."""
    managers = item["metadata"].get("managedFields") or []
    return any(entry.get("manager") == "nimops.nim" for entry in managers)


def as_theirs(item: Json) -> Json:
    """The same object of another owner."""
    meta = item["metadata"]
    labels = {key: text for key, text in (meta.get("labels") or {}).items() if key != _OURS}
    made = {key: copy.deepcopy(item[key]) for key in _KEPT if key in item}
    if item["kind"] == "Service":
        for field in ("clusterIP", "clusterIPs"):
            made["spec"].pop(field, None)
    if item["kind"] == "PersistentVolumeClaim":
        made["spec"].pop("volumeName", None)
    if item["kind"] == "Job":
        made["spec"].pop("selector", None)
        made["spec"]["template"]["metadata"].pop("labels", None)
        labels = {}
    return {**made, "metadata": {"name": meta["name"], "labels": labels}}


def make_resources() -> dict[str, Json]:
    """Resources by a short name; together they have each kind of children."""
    full = make_nimservice("taken")
    route = {"hostDomainName": "example.com", "ingress": {"ingressClass": "nginx"}}
    full["spec"]["expose"]["router"] = route
    del full["spec"]["replicas"]
    full["spec"]["scale"] = {"enabled": True, "hpa": {"maxReplicas": 2}}
    full["spec"]["storage"] = {
        "pvc": {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
    }
    picked = make_nimservice("picked")
    gateway = {"name": "g", "namespace": "gateways", "httpRoutesEnabled": True}
    picked["spec"]["expose"]["router"] = {"hostDomainName": "example.com", "gateway": gateway}
    spread = make_nimservice("spread")
    spread["spec"]["multiNode"] = {"parallelism": {"pipeline": 2, "tensor": 1}}
    pipeline = {
        "apiVersion": full["apiVersion"],
        "kind": "NIMPipeline",
        "metadata": {"name": "line"},
        "spec": {"services": [{"name": "one", "enabled": True, "spec": make_nimservice("")["spec"]}]},
    }  # fmt: skip
    found = {"service": full, "route": picked, "nodes": spread, "line": pipeline}
    return {**found, "cache": make_nimcache("store")}


@attack(
    "foreign-children", "nothing refers to a child of another owner", sides=("prefork",), quick=True
)
def attack_children(harness: Harness) -> Seen:
    """Each child in turn exists with another owner before the resource is created."""
    resources = make_resources()
    resources |= {kind: harness.bases[kind][0] for kind in ("NemoEvaluator", "NemoDatastore")}
    if harness.quick:
        resources = {"service": resources["service"]}
    problems: list[str] = []
    children = learn(harness, resources, problems)
    tries: list[tuple[str, Json, Json]] = []
    for name, resource in resources.items():
        for child in children[name]:
            namespace = harness.namespace(f"foreign-{name.lower()}")
            place = path_of(COLLECTIONS[child["kind"]], namespace)
            answer = harness.cluster.ask("POST", place, as_theirs(child))
            if answer.status == 409 and child["kind"] == "ServiceAccount":
                continue
            if answer.refusal:
                problems.append(f"{child['kind']} of another owner: {answer.refusal}")
                continue
            theirs = {**answer.body, "kind": child["kind"]}
            tries.append((namespace, resource, theirs))
    for namespace, resource, _theirs in tries:
        if refusal := harness.create(namespace, resource):
            problems.append(f"{resource['kind']} is refused: {refusal}")
    for namespace, resource, theirs in tries:
        problems += judge(harness, namespace, resource, theirs)
    for namespace, resource, _theirs in tries:
        harness.cluster.ask(
            "DELETE", path_to(resource["kind"], namespace, resource["metadata"]["name"])
        )
    return Seen.of(problems, f"{len(tries)} children of others, and nothing refers to one")


def is_given(item: Json, spec: str) -> bool:
    """Whether the user named this volume, which may have any owner."""
    return item["kind"] == "PersistentVolumeClaim" and f'"{item["metadata"]["name"]}"' in spec


def learn(
    harness: Harness, resources: dict[str, Json], problems: list[str]
) -> dict[str, list[Json]]:
    """The children of resources in an empty namespace."""
    places = {}
    for name, resource in resources.items():
        places[name] = harness.namespace(f"own-{name.lower()}")
        if refusal := harness.create(places[name], resource):
            problems.append(f"{resource['kind']} is refused: {refusal}")
    found = {}
    for name, resource in resources.items():
        harness.wait_answered(resource["kind"], places[name], [resource["metadata"]["name"]])
        items = [item for item in list_objects(harness, places[name]) if is_ours(item)]
        is_pipeline = resource["kind"] == "NIMPipeline"
        given = json.dumps(resource["spec"])
        found[name] = [
            item
            for item in items
            if (item["kind"] == "NIMService") == is_pipeline and not is_given(item, given)
        ]
        if not found[name]:
            problems.append(f"{name} has no children: the attack did not take place")
        harness.cluster.ask(
            "DELETE", path_to(resource["kind"], places[name], resource["metadata"]["name"])
        )
    return found


def judge(harness: Harness, namespace: str, resource: Json, theirs: Json) -> list[str]:
    """Problems with references to an object of another owner, and with that object."""
    name, kind = resource["metadata"]["name"], theirs["kind"]
    what = f"{resource['kind']} beside {kind} {theirs['metadata']['name']}"
    left = harness.wait_answered(resource["kind"], namespace, [name])
    problems = [f"{what}: no status" for _item in left]
    status = harness.read_status(resource["kind"], namespace, name)
    types = {item["type"] for item in status.get("conditions") or [] if item["status"] == "True"}
    if "Stalled" not in types:
        problems.append(f"{what}: is {status.get('state')}, and not Stalled")
    for item in list_objects(harness, namespace):
        own = f"{item['kind']} {item['metadata']['name']}"
        if (item["kind"], item["metadata"]["name"]) == (kind, theirs["metadata"]["name"]):
            if is_ours(item) or item["metadata"]["uid"] != theirs["metadata"]["uid"]:
                problems.append(f"{what}: it was taken")
        elif is_ours(item) or item["kind"] in _MADE_BY_POD_CONTROLLERS:
            problems += [
                f"{what}: {own} has it in {path}"
                for path in mentions(item, kind, theirs["metadata"]["name"])
            ]
    return problems


@attack("foreign-identity", "no pod, binding or autoscaler uses what others own", quick=True)
def attack_identity(harness: Harness) -> Seen:
    """Names of an account, of the default account, and of a role that reads Secrets."""
    namespace = harness.namespace("identity")
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]
    accounts, roles = path_of(ACCOUNTS, namespace), path_of(ROLES, namespace)
    harness.cluster.request("POST", accounts, {"metadata": {"name": "ci-deployer"}})
    harness.cluster.request("POST", roles, {"metadata": {"name": "secret-reader"}, "rules": rules})
    harness.wait_for("default", lambda: harness.cluster.find(f"{accounts}/default"), 30)
    names = ["ci-deployer", "default", "secret-reader"]
    problems = [
        f"{name} is refused: {refusal}"
        for name in names
        if (refusal := harness.create(namespace, make_nimservice(name)))
    ]
    problems += harness.find_unanswered("NIMService", namespace, names)
    for item in list_objects(harness, namespace):
        for name in ("ci-deployer", "default"):
            problems += [
                f"{item['kind']} {item['metadata']['name']} uses ServiceAccount {name}"
                for _path in mentions(item, "ServiceAccount", name)
                if is_ours(item)
            ]
        if item["kind"] == "Pod" and item["spec"].get("serviceAccountName") in names[:2]:
            problems.append(f"a pod runs as {item['spec']['serviceAccountName']}")
    for name in names:
        if may_list_secrets(harness, namespace, name):
            problems.append(f"ServiceAccount {name} may list Secrets")
    state = harness.read_status("NIMService", namespace, "ci-deployer")
    harness.delete_all("NIMService", namespace, names)
    reasons = [item["reason"] for item in state.get("conditions") or [] if item["type"] == "Failed"]
    return Seen.of(problems, f"nothing runs or is granted; {state.get('state')}: {reasons}")


def may_list_secrets(harness: Harness, namespace: str, account: str) -> bool:
    """The answer of `kubectl auth can-i list secrets --as=system:serviceaccount:…`."""
    asked: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"],
            "resourceAttributes": {"namespace": namespace, "verb": "list", "resource": "secrets"},
        },
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = harness.cluster.request("POST", path, asked)
    return bool(t.cast(Json, answer["status"]).get("allowed"))
