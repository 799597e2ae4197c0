# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names, labels and objects of others: each is left alone, and nothing of ours refers to it."""

from __future__ import annotations

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.mentions import mentions
from nimops_harness.workload import make_nimservice

from .harness import CHILDREN, Scene, attack, messages_of
from .models import OFF, Hostile, listing

SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}


@attack("foreign-service", "neither asked for its model nor changed", quick=True)
def attack_foreign_service(scene: Scene) -> str:
    """A NIMService that names a Service of another owner."""
    spec = {"ports": [{"name": "api", "port": 8000}], "selector": {"a": "b"}}
    theirs = scene.plant("Service", "theirs", {"spec": spec}, annotations=OFF)
    resource = make_nimservice("mine")
    resource["spec"]["expose"]["service"]["name"] = "theirs"
    address = (theirs["spec"]["clusterIP"], 8000)
    with Hostile(address, lambda handler: handler.say(listing("theirs"))) as server:
        if scene.create(resource) is None:
            scene.wait_answered()
            scene.wait_for(lambda: server.asked, 5 if scene.quick else 15)
        status = scene.status("NIMService", "mine")
        scene.expect_deleted()
        scene.wait_for(lambda: scene.find("Service", "theirs") is None, 5)
    scene.expect(not server.asked, "it was asked for its model")
    model = (status.get("model") or {}).get("name")
    scene.expect(model != "theirs", "its model is in the status")
    scene.expect_untouched("Service", theirs)
    return f"neither asked nor changed; the NIMService is {status.get('state')}"


@attack("foreign-identity", "no pod, binding or autoscaler uses what others own", quick=True)
def attack_identity(scene: Scene) -> str:
    """Names of an account, of the default account, and of a role that reads Secrets."""
    names = ["ci-deployer", "default", "secret-reader"]
    scene.plant("ServiceAccount", "ci-deployer")
    scene.plant("Role", "secret-reader", {"rules": [SECRETS]})
    scene.wait_for(lambda: scene.find("ServiceAccount", "default"), 30)
    scene.make(*map(make_nimservice, names))
    scene.expect_answered()
    for kind in CHILDREN:
        for item in scene.cluster.ask("GET", scene.path(kind)).body.get("items") or []:
            what = f"{kind} {item['metadata']['name']}"
            managers = item["metadata"].get("managedFields") or []
            is_ours = any(entry.get("manager") == "nimops.nim" for entry in managers)
            for name in names[:2]:
                is_used = is_ours and mentions(item | {"kind": kind}, "ServiceAccount", name)
                is_run = kind == "Pod" and item["spec"].get("serviceAccountName") == name
                scene.expect(not is_used and not is_run, f"{what} uses ServiceAccount {name}")
    for name in names:
        may = may_list_secrets(scene, name)
        scene.expect(not may, f"ServiceAccount {name} may list Secrets")
    said = messages_of(scene.read("NIMService", "ci-deployer"))
    scene.expect_deleted()
    return f"nothing runs or is granted: {str(said[-1:])[:120]}"


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


def make_deployment(name: str) -> Json:
    """A Deployment of another owner, without pods."""
    labels = {"app": "theirs"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "c"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    return {"metadata": {"name": name}, "spec": spec}


@attack("races", "objects that others create first are left alone", sides=("prefork",))
def attack_races(scene: Scene) -> str:
    """A Deployment of a child's name is created when the operator has decided to create it.

    That is so once its account is there, for which the operator's Deployment waits.
    """
    names = [f"race-{number}" for number in range(20)]
    theirs: dict[str, Json] = {}
    for name in names:
        scene.make(make_nimservice(name))
        account = scene.path("ServiceAccount", name)
        if not scene.wait_for(lambda: scene.cluster.find(account), pause=0.002):  # noqa: B023 called at once
            raise HarnessError(f"{name} got no child")
        answer = scene.cluster.ask("POST", scene.path("Deployment"), make_deployment(name))
        if answer.status < 300:
            theirs[name] = answer.body
    scene.expect_answered()
    scene.expect_deleted()
    places = [scene.path("Deployment", name) for name in names if name not in theirs]
    scene.wait_for(lambda: not any(map(scene.cluster.find, places)), 10)
    for before in theirs.values():
        scene.expect_untouched("Deployment", before)
    scene.expect(theirs, "none came first: the attack did not take place")
    return f"{len(theirs)} of {len(names)} came first, and are left alone"
