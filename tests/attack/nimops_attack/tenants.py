# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names and labels of other objects."""

from __future__ import annotations

from nimops_harness.cluster import Json
from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimcache, make_nimservice

from .harness import Scene, attack, messages_of
from .models import OFF, Hostile, listing

ACCOUNT = "nim-cache-sa"


def make_deployment(labels: Json) -> Json:
    """The content of a Deployment without pods."""
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "c"}]}}
    return {"spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}}


@attack("name-of-account", "the account of the caches stays")
def attack_account(scene: Scene) -> str:
    """A NIMService with the name of the caches' account."""
    scene.make(make_nimcache("cache"))
    before = scene.wait_for(lambda: scene.find("ServiceAccount", ACCOUNT))
    if before is None:
        raise HarnessError("no NIMCache made its account")
    refusal = scene.create(make_nimservice(ACCOUNT))
    if refusal is None:
        scene.wait_answered()
        scene.expect_deleted()
        scene.wait_for(lambda: scene.find("ServiceAccount", ACCOUNT) is None, 15)
    after = scene.read("ServiceAccount", ACCOUNT)
    is_same = after["metadata"].get("uid") == before["metadata"]["uid"]
    scene.expect(is_same, "the account of the caches went with the NIMService")
    scene.expect_deleted()
    return f"the account is there as before; {refusal or 'the name is harmless'}"


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


@attack("foreign-objects", "objects of others are left alone, and a condition reports it")
def attack_foreign_objects(scene: Scene) -> str:
    """Objects of other owners with the names of our children."""
    bodies = {
        "ServiceAccount": {},
        "Service": {"spec": {"ports": [{"port": 1}]}},
        "Deployment": make_deployment({"app": "theirs"}),
    }
    made = {kind: scene.plant(kind, "taken", body) for kind, body in bodies.items()}
    scene.make(make_nimservice("taken"))
    scene.expect_answered()
    found = scene.read("NIMService", "taken")
    scene.expect_deleted()
    scene.wait_for(lambda: any(scene.find(kind, "taken") is None for kind in made), 5)
    for kind, before in made.items():
        scene.expect_untouched(kind, before)
    is_ready = (found.get("status") or {}).get("state") == "Ready"
    scene.expect(not is_ready, "the NIMService is Ready with objects of others")
    return f"left alone: {str(messages_of(found)[-1:])[:120]}"


@attack("posing-as-kserve", "services of KServe work as before")
def attack_kserve(theirs: Scene) -> str:
    """A NIMService with the labels of KServe's controller."""
    mine = theirs.open("posing")
    labels = {"control-plane": "kserve-controller-manager"}
    settings = {"data": {"deploy": '{"defaultDeploymentMode": "Standard"}'}}
    theirs.plant("ConfigMap", "inferenceservice-config", settings)
    controller = "kserve-controller-manager"
    theirs.plant("Deployment", controller, make_deployment(labels), labels=labels)
    refusal = mine.create(make_nimservice("poser", labels=labels))
    poses = mine.wait_for(lambda: refusal or mine.find("Deployment", "poser"))
    theirs.make(make_nimservice("victim", inferencePlatform="kserve"))
    found = theirs.wait_for(lambda: theirs.find("InferenceService", "victim"))
    said = messages_of(theirs.read("NIMService", "victim"))
    theirs.expect(found, f"a service of KServe is not made: {str(said[-1:])[:160]}")
    theirs.expect(poses, "the posing NIMService has no Deployment: the attack did not take place")
    mine.expect_deleted()
    theirs.expect_deleted()
    theirs.cluster.ask("DELETE", theirs.path("Deployment", controller))
    return "the service of KServe is made as without it"


@attack("field-manager", "the name of a field manager is taken as text")
def attack_managers(scene: Scene) -> str:
    """A template as the name of a field manager, which is part of the resource."""
    template = "{{lookup('pipe','touch%20" + scene.canary + "/tmanager00')}}"
    if len(template) > 128:
        template = "mk{{6*7}}tfacade0123"
    query = f"?fieldManager={template.replace('{', '%7B').replace('}', '%7D')}"
    if refusal := scene.create(make_nimservice("managed"), query):
        raise HarnessError(f"not created: {refusal}")
    scene.expect_answered()
    scene.expect_unevaluated()
    scene.expect_deleted()
    return "nothing evaluated"
