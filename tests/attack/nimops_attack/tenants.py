# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names and labels that are another's."""

from __future__ import annotations

import threading
import typing as t

from nimops_live.cluster import path_of
from nimops_live.workload import make_nimcache, make_nimservice

from .fields import Json
from .models import OFF, Hostile, listing
from .scene import Attack, Scene, Seen

ACCOUNT = "nim-cache-sa"
ACCOUNTS, SERVICES, DEPLOYMENTS = (
    ("api/v1", "serviceaccounts"),
    ("api/v1", "services"),
    ("apis/apps/v1", "deployments"),
)


def attack_account(scene: Scene) -> Seen:
    """A NIMService by the name of the caches' account."""
    namespace = scene.namespace("account")
    scene.create(namespace, make_nimcache("cache"))
    place = path_of(ACCOUNTS, namespace, ACCOUNT)
    before = scene.wait_for("the account", lambda: scene.cluster.find(place), 60)
    if before is None:
        return Seen(False, "no NIMCache made its account: the attack did not take place")
    refusal = scene.create(namespace, make_nimservice(ACCOUNT))
    if refusal is None:
        scene.wait_answered("NIMService", namespace, [ACCOUNT])
        scene.delete_all("NIMService", namespace, [ACCOUNT])
        scene.wait_for("garbage collection", lambda: scene.cluster.find(place) is None, 15)
    after = scene.cluster.find(place)
    problems = []
    if after is None or after["metadata"]["uid"] != before["metadata"]["uid"]:
        problems.append("the account of the caches went with the NIMService")
    scene.delete_all("NIMCache", namespace, ["cache"])
    return Seen.of(problems, f"the account is there as before; {refusal or 'the name is harmless'}")


def attack_foreign_service(scene: Scene) -> Seen:
    """A Service of somebody else, by its name."""
    namespace = scene.namespace("foreign")
    place = path_of(SERVICES, namespace, "theirs")
    body: Json = {
        "metadata": {"name": "theirs", "annotations": OFF},
        "spec": {"ports": [{"name": "api", "port": 8000}], "selector": {"a": "b"}},
    }
    theirs = scene.cluster.request("POST", path_of(SERVICES, namespace), body)
    server = Hostile(
        (theirs["spec"]["clusterIP"], 8000), lambda handler: handler.say(listing("theirs"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    resource = make_nimservice("mine")
    resource["spec"]["expose"]["service"]["name"] = "theirs"
    refusal = scene.create(namespace, resource)
    if refusal is None:
        scene.wait_answered("NIMService", namespace, ["mine"])
        scene.wait_for("a question", lambda: server.asked, 5 if scene.quick else 15)
    status = (scene.read("NIMService", namespace, "mine") or {}).get("status") or {}
    scene.delete_all("NIMService", namespace, ["mine"])
    scene.wait_for("garbage collection", lambda: scene.cluster.find(place) is None, 5)
    server.shutdown()
    server.server_close()
    after = scene.cluster.find(place)
    problems = ["it was asked for its model"] if server.asked else []
    if (status.get("model") or {}).get("name") == "theirs":
        problems.append("its model is in the status")
    if after is None or after["spec"] != theirs["spec"] or after["metadata"].get("ownerReferences"):
        problems.append("it was changed")
    return Seen.of(problems, f"neither asked nor changed; the NIMService is {status.get('state')}")


def attack_foreign_objects(scene: Scene) -> Seen:
    """Objects of somebody else that have the names of our children."""
    namespace = scene.namespace("taken")
    made: dict[str, Json] = {}
    labels = {"app": "theirs"}
    pod = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "theirs"}]},
    }
    for resource, spec in (
        (ACCOUNTS, {}),
        (SERVICES, {"spec": {"ports": [{"port": 1}]}}),
        (
            DEPLOYMENTS,
            {"spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}},
        ),
    ):
        body = {"metadata": {"name": "taken"}, **t.cast(Json, spec)}
        made[path_of(resource, namespace, "taken")] = scene.cluster.request("POST", path_of(resource, namespace), body)  # fmt: skip
    scene.create(namespace, make_nimservice("taken"))
    problems = [
        f"{left} got no status" for left in scene.wait_answered("NIMService", namespace, ["taken"])
    ]
    status = (scene.read("NIMService", namespace, "taken") or {}).get("status") or {}
    problems += [
        f"{left} could not be deleted"
        for left in scene.delete_all("NIMService", namespace, ["taken"])
    ]
    scene.wait_for("garbage collection", lambda: None in map(scene.cluster.find, made), 5)
    for place, before in made.items():
        after = scene.cluster.find(place) or {"metadata": {}}
        same = before["metadata"]["uid"] == after["metadata"].get("uid")
        if (
            not same
            or after["metadata"].get("ownerReferences")
            or after.get("spec") != before.get("spec")
        ):
            problems.append(f"changed: {place.rpartition('namespaces/')[2]}")
    if status.get("state") == "Ready":
        problems.append("the NIMService is Ready with objects of others")
    said = [item.get("message") for item in status.get("conditions") or [] if item.get("message")]
    return Seen.of(problems, f"left alone: {str(said[-1:])[:120]}")


def attack_kserve(scene: Scene) -> Seen:
    """A NIMService that looks like KServe's controller."""
    theirs, mine = scene.namespace("kserve"), scene.namespace("posing")
    labels = {"control-plane": "kserve-controller-manager"}
    settings = {
        "metadata": {"name": "inferenceservice-config"},
        "data": {"deploy": '{"defaultDeploymentMode": "Standard"}'},
    }
    pod = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c", "image": "kserve"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    controller = {"metadata": {"name": "kserve-controller-manager", "labels": labels}, "spec": spec}
    scene.cluster.request("POST", path_of(("api/v1", "configmaps"), theirs), settings)
    scene.cluster.request("POST", path_of(DEPLOYMENTS, theirs), controller)
    poser = make_nimservice("poser")
    poser["spec"]["labels"] = labels
    refusal = scene.create(mine, poser)
    deployment = path_of(DEPLOYMENTS, mine, "poser")
    scene.wait_for("the posing Deployment", lambda: refusal or scene.cluster.find(deployment), 60)
    victim = make_nimservice("victim")
    victim["spec"] |= {"inferencePlatform": "kserve"}
    scene.create(theirs, victim)
    place = f"/apis/serving.kserve.io/v1beta1/namespaces/{theirs}/inferenceservices/victim"
    found = scene.wait_for("the InferenceService", lambda: scene.cluster.find(place), 60)
    status = (scene.read("NIMService", theirs, "victim") or {}).get("status") or {}
    said = [item.get("message") for item in status.get("conditions") or [] if item.get("message")]
    problems = [] if found else [f"a service of KServe is not made: {str(said[-1:])[:160]}"]
    if not refusal and not scene.cluster.find(deployment):
        problems.append("the posing NIMService has no Deployment: the attack did not take place")
    scene.delete_all("NIMService", mine, ["poser"])
    scene.delete_all("NIMService", theirs, ["victim"])
    scene.cluster.ask("DELETE", path_of(DEPLOYMENTS, theirs, "kserve-controller-manager"))
    return Seen.of(problems, "the service of KServe is made as without it")


def attack_managers(scene: Scene) -> Seen:
    """The name of a field manager is a text of whoever writes, and part of the resource."""
    namespace = scene.namespace("managers")
    template = "{{lookup('pipe','touch%20" + str(scene.canary) + "/tmanager00')}}"
    if len(template) > 128:
        template = "mk{{6*7}}tfacade0123"
    query = f"?fieldManager={template.replace('{', '%7B').replace('}', '%7D')}"
    refusal = scene.create(namespace, make_nimservice("managed"), query)
    if refusal:
        return Seen(False, f"not created: {refusal}")
    problems = [
        f"{left} got no status"
        for left in scene.wait_answered("NIMService", namespace, ["managed"])
    ]
    problems += scene.evaluated(namespace)
    problems += [
        f"{left} could not be deleted"
        for left in scene.delete_all("NIMService", namespace, ["managed"])
    ]
    return Seen.of(problems, "nothing evaluated")


def list_attacks() -> list[Attack]:
    return [
        Attack("name-of-account", "the account of the caches stays", attack_account),
        Attack("foreign-service", "neither asked for its model nor changed", attack_foreign_service, quick=True),
        Attack("foreign-objects", "objects of others are left alone, and a condition says so", attack_foreign_objects),
        Attack("posing-as-kserve", "services of KServe work as before", attack_kserve),
        Attack("field-manager", "the name of a field manager is taken as text", attack_managers),
    ]  # fmt: skip
