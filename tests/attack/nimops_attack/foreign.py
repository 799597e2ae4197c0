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

from nimops_harness.cluster import Json, version_of
from nimops_harness.mentions import mentions
from nimops_harness.workload import make, make_nimcache, make_nimservice

from .harness import CHILDREN, Scene, attack, conditions_of

_KEPT = ("apiVersion", "kind", "spec", "data", "rules", "roleRef", "subjects", "type")
_OURS = "app.kubernetes.io/managed-by"
_MADE_BY_POD_CONTROLLERS = ("Pod",)


def list_objects(scene: Scene) -> list[Json]:
    """The objects of a namespace that we may have made."""
    found = []
    for kind in CHILDREN:
        items = scene.cluster.ask("GET", scene.path(kind)).body.get("items") or []
        found += [{"apiVersion": version_of(kind), **item, "kind": kind} for item in items]
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
    claim = {"create": True, "size": "1Gi", "volumeAccessMode": "ReadWriteOnce"}
    scale = {"enabled": True, "hpa": {"maxReplicas": 2}}
    full = make_nimservice("taken", storage={"pvc": claim}, scale=scale)
    route = {"hostDomainName": "example.com", "ingress": {"ingressClass": "nginx"}}
    full["spec"]["expose"]["router"] = route
    del full["spec"]["replicas"]
    picked = make_nimservice("picked")
    gateway = {"name": "g", "namespace": "gateways", "httpRoutesEnabled": True}
    picked["spec"]["expose"]["router"] = {"hostDomainName": "example.com", "gateway": gateway}
    parallel = {"parallelism": {"pipeline": 2, "tensor": 1}}
    spread = make_nimservice("spread", multiNode=parallel)
    entry = {"name": "one", "enabled": True, "spec": make_nimservice("")["spec"]}
    pipeline = make("NIMPipeline", "line", {"services": [entry]})
    found = {"service": full, "route": picked, "nodes": spread, "line": pipeline}
    return {**found, "cache": make_nimcache("store")}


@attack(
    "foreign-children", "nothing refers to a child of another owner", sides=("prefork",), quick=True
)
def attack_children(scene: Scene) -> str:
    """Each child in turn exists with another owner before the resource is created."""
    resources = make_resources()
    bases = scene.harness.bases
    resources |= {kind: bases[kind][0] for kind in ("NemoEvaluator", "NemoDatastore")}
    if scene.quick:
        resources = {"service": resources["service"]}
    tries: list[tuple[Scene, Json, Json]] = []
    for name, children in learn(scene, resources).items():
        for child in children:
            place = scene.open(name.lower())
            answer = scene.cluster.ask("POST", place.path(child["kind"]), as_theirs(child))
            if answer.status == 409 and child["kind"] == "ServiceAccount":
                continue
            scene.expect(not answer.refusal, f"{child['kind']} of another owner: {answer.refusal}")
            if not answer.refusal:
                tries.append((place, resources[name], {**answer.body, "kind": child["kind"]}))
    for place, resource, _theirs in tries:
        place.make(resource)
    for place, resource, theirs in tries:
        judge(place, resource, theirs)
    for place, *_ in tries:
        place.delete()
    return f"{len(tries)} children of others, and nothing refers to one"


def is_given(item: Json, spec: str) -> bool:
    """Whether the user named this volume, which may have any owner."""
    return item["kind"] == "PersistentVolumeClaim" and f'"{item["metadata"]["name"]}"' in spec


def learn(scene: Scene, resources: dict[str, Json]) -> dict[str, list[Json]]:
    """The children of resources, each in a namespace of its own."""
    places = {name: scene.open(f"own-{name.lower()}") for name in resources}
    for name, resource in resources.items():
        places[name].make(resource)
    found = {}
    for name, resource in resources.items():
        places[name].wait_answered()
        is_pipeline = resource["kind"] == "NIMPipeline"
        given = json.dumps(resource["spec"])
        found[name] = [
            item
            for item in filter(is_ours, list_objects(places[name]))
            if (item["kind"] == "NIMService") == is_pipeline and not is_given(item, given)
        ]
        scene.expect(found[name], f"{name} has no children: the attack did not take place")
        places[name].delete()
    return found


def judge(scene: Scene, resource: Json, theirs: Json) -> None:
    """Problems with references to an object of another owner, and with that object."""
    name, kind = theirs["metadata"]["name"], theirs["kind"]
    what = f"{resource['kind']} beside {kind} {name}"
    scene.expect(not scene.wait_answered(), f"{what}: no status")
    conditions = conditions_of(scene.read(resource["kind"], resource["metadata"]["name"]))
    types = {item["type"] for item in conditions if item["status"] == "True"}
    scene.expect("Stalled" in types, f"{what}: is not Stalled, but {sorted(types)}")
    for item in list_objects(scene):
        own = (item["kind"], item["metadata"]["name"])
        if own == (kind, name):
            is_same = item["metadata"]["uid"] == theirs["metadata"]["uid"]
            scene.expect(is_same and not is_ours(item), f"{what}: it was taken")
        elif is_ours(item) or item["kind"] in _MADE_BY_POD_CONTROLLERS:
            for path in mentions(item, kind, name):
                scene.expect(False, f"{what}: {' '.join(own)} has it in {path}")


@attack("foreign-identity", "no pod, binding or autoscaler uses what others own", quick=True)
def attack_identity(scene: Scene) -> str:
    """Names of an account, of the default account, and of a role that reads Secrets."""
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]
    scene.plant("ServiceAccount", "ci-deployer")
    scene.plant("Role", "secret-reader", {"rules": rules})
    scene.wait_for(lambda: scene.find("ServiceAccount", "default"), 30)
    names = ["ci-deployer", "default", "secret-reader"]
    scene.make(*map(make_nimservice, names))
    scene.expect_answered()
    for item in list_objects(scene):
        what = f"{item['kind']} {item['metadata']['name']}"
        for name in ("ci-deployer", "default"):
            is_used = is_ours(item) and mentions(item, "ServiceAccount", name)
            is_run = item["kind"] == "Pod" and item["spec"].get("serviceAccountName") == name
            scene.expect(not is_used and not is_run, f"{what} uses ServiceAccount {name}")
    for name in names:
        may = may_list_secrets(scene, name)
        scene.expect(not may, f"ServiceAccount {name} may list Secrets")
    found = scene.read("NIMService", "ci-deployer")
    reasons = [item["reason"] for item in conditions_of(found) if item["type"] == "Failed"]
    scene.expect_deleted()
    return f"nothing runs or is granted: {reasons}"


def may_list_secrets(scene: Scene, account: str) -> bool:
    """The answer of `kubectl auth can-i list secrets --as=system:serviceaccount:…`."""
    namespace = scene.namespace
    asked = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"],
        "resourceAttributes": {"namespace": namespace, "verb": "list", "resource": "secrets"},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = scene.cluster.request("POST", path, {"spec": asked})
    return bool(answer["status"].get("allowed"))
