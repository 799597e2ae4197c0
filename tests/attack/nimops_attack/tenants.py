# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Names and labels of other objects."""

from __future__ import annotations

import threading
import typing as t

from nimops_harness.cluster import ACCOUNTS, DEPLOYMENTS, SERVICES, path_of
from nimops_harness.workload import make_nimcache, make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack
from .models import OFF, Hostile, listing

ACCOUNT = "nim-cache-sa"


@attack("name-of-account", "the account of the caches stays")
def attack_account(harness: Harness) -> Seen:
    """A NIMService with the name of the caches' account."""
    namespace = harness.namespace("account")
    harness.create(namespace, make_nimcache("cache"))
    place = path_of(ACCOUNTS, namespace, ACCOUNT)
    before = harness.wait_for("the account", lambda: harness.cluster.find(place), 60)
    if before is None:
        return Seen(False, "no NIMCache made its account: the attack did not take place")
    refusal = harness.create(namespace, make_nimservice(ACCOUNT))
    if refusal is None:
        harness.wait_answered("NIMService", namespace, [ACCOUNT])
        harness.delete_all("NIMService", namespace, [ACCOUNT])
        harness.wait_for("garbage collection", lambda: harness.cluster.find(place) is None, 15)
    after = harness.cluster.find(place)
    problems = []
    if after is None or after["metadata"]["uid"] != before["metadata"]["uid"]:
        problems.append("the account of the caches went with the NIMService")
    harness.delete_all("NIMCache", namespace, ["cache"])
    return Seen.of(problems, f"the account is there as before; {refusal or 'the name is harmless'}")


@attack("foreign-service", "neither asked for its model nor changed", quick=True)
def attack_foreign_service(harness: Harness) -> Seen:
    """A NIMService that names a Service of another owner."""
    namespace = harness.namespace("foreign")
    place = path_of(SERVICES, namespace, "theirs")
    body: Json = {
        "metadata": {"name": "theirs", "annotations": OFF},
        "spec": {"ports": [{"name": "api", "port": 8000}], "selector": {"a": "b"}},
    }
    theirs = harness.cluster.request("POST", path_of(SERVICES, namespace), body)
    server = Hostile(
        (theirs["spec"]["clusterIP"], 8000), lambda handler: handler.say(listing("theirs"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    resource = make_nimservice("mine")
    resource["spec"]["expose"]["service"]["name"] = "theirs"
    refusal = harness.create(namespace, resource)
    if refusal is None:
        harness.wait_answered("NIMService", namespace, ["mine"])
        harness.wait_for("a question", lambda: server.asked, 5 if harness.quick else 15)
    status = harness.read_status("NIMService", namespace, "mine")
    harness.delete_all("NIMService", namespace, ["mine"])
    harness.wait_for("garbage collection", lambda: harness.cluster.find(place) is None, 5)
    server.shutdown()
    server.server_close()
    after = harness.cluster.find(place)
    problems = ["it was asked for its model"] if server.asked else []
    if (status.get("model") or {}).get("name") == "theirs":
        problems.append("its model is in the status")
    if after is None or after["spec"] != theirs["spec"] or after["metadata"].get("ownerReferences"):
        problems.append("it was changed")
    return Seen.of(problems, f"neither asked nor changed; the NIMService is {status.get('state')}")


@attack("foreign-objects", "objects of others are left alone, and a condition reports it")
def attack_foreign_objects(harness: Harness) -> Seen:
    """Objects of other owners with the names of our children."""
    namespace = harness.namespace("taken")
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
        made[path_of(resource, namespace, "taken")] = harness.cluster.request("POST", path_of(resource, namespace), body)  # fmt: skip
    harness.create(namespace, make_nimservice("taken"))
    problems = harness.find_unanswered("NIMService", namespace, ["taken"])
    status = harness.read_status("NIMService", namespace, "taken")
    problems += harness.find_undeleted("NIMService", namespace, ["taken"])
    harness.wait_for("garbage collection", lambda: None in map(harness.cluster.find, made), 5)
    for place, before in made.items():
        after = harness.cluster.find(place) or {"metadata": {}}
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


@attack("posing-as-kserve", "services of KServe work as before")
def attack_kserve(harness: Harness) -> Seen:
    """A NIMService with the labels of KServe's controller."""
    theirs, mine = harness.namespace("kserve"), harness.namespace("posing")
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
    harness.cluster.request("POST", path_of(("api/v1", "configmaps"), theirs), settings)
    harness.cluster.request("POST", path_of(DEPLOYMENTS, theirs), controller)
    poser = make_nimservice("poser")
    poser["spec"]["labels"] = labels
    refusal = harness.create(mine, poser)
    deployment = path_of(DEPLOYMENTS, mine, "poser")
    harness.wait_for(
        "the posing Deployment", lambda: refusal or harness.cluster.find(deployment), 60
    )
    victim = make_nimservice("victim")
    victim["spec"] |= {"inferencePlatform": "kserve"}
    harness.create(theirs, victim)
    place = f"/apis/serving.kserve.io/v1beta1/namespaces/{theirs}/inferenceservices/victim"
    found = harness.wait_for("the InferenceService", lambda: harness.cluster.find(place), 60)
    status = harness.read_status("NIMService", theirs, "victim")
    said = [item.get("message") for item in status.get("conditions") or [] if item.get("message")]
    problems = [] if found else [f"a service of KServe is not made: {str(said[-1:])[:160]}"]
    if not refusal and not harness.cluster.find(deployment):
        problems.append("the posing NIMService has no Deployment: the attack did not take place")
    harness.delete_all("NIMService", mine, ["poser"])
    harness.delete_all("NIMService", theirs, ["victim"])
    harness.cluster.ask("DELETE", path_of(DEPLOYMENTS, theirs, "kserve-controller-manager"))
    return Seen.of(problems, "the service of KServe is made as without it")


@attack("field-manager", "the name of a field manager is taken as text")
def attack_managers(harness: Harness) -> Seen:
    """A template as the name of a field manager, which is part of the resource."""
    namespace = harness.namespace("managers")
    template = "{{lookup('pipe','touch%20" + str(harness.canary) + "/tmanager00')}}"
    if len(template) > 128:
        template = "mk{{6*7}}tfacade0123"
    query = f"?fieldManager={template.replace('{', '%7B').replace('}', '%7D')}"
    refusal = harness.create(namespace, make_nimservice("managed"), query)
    if refusal:
        return Seen(False, f"not created: {refusal}")
    problems = harness.find_unanswered("NIMService", namespace, ["managed"])
    problems += harness.evaluated(namespace)
    problems += harness.find_undeleted("NIMService", namespace, ["managed"])
    return Seen.of(problems, "nothing evaluated")
