# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What custom resources become, without a cluster."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    Read,
    read_nodes,
    read_object,
    read_objects,
    read_presence,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.mode import CONTROLLERS
from ansible_collections.nimops.nim.plugins.module_utils._verbs.changes import publish
from ansible_collections.nimops.nim.plugins.module_utils._verbs.outlook import look_ahead
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Facts, World

MANIFEST = yaml.safe_dump(
    {
        "p" * 64: {
            "model": "llm",
            "release": "1",
            "tags": {"gpu": "H100", "llm_engine": "tensorrt_llm", "tp": "4", "precision": "fp8"},
        }
    }
)
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    "status": {"allocatable": {}},
}


def kinds(outlook):
    return [key[0] for key in outlook.wanted]


def find(outlook, kind):
    (found,) = [item.child.manifest for key, item in outlook.wanted.items() if key[0] == kind]
    return found


def manifest_of(cache):
    """The ConfigMap that a probe of the cache's image left."""
    name = cache["metadata"]["name"]
    owner = {"apiVersion": "v", "kind": "NIMCache", "name": name, "uid": "u1", "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"{name}-manifest",
            "namespace": "nim",
            "ownerReferences": [owner],
        },
        "data": {"model_manifest.yaml": MANIFEST},
    }


def test_a_service(make_service):
    outlook = look_ahead([make_service()], Facts([]).ask)
    assert kinds(outlook) == ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]
    assert outlook.problems == outlook.notes == {}
    assert outlook.unwanted == []


def test_no_cluster_has_the_owner_yet(make_service):
    outlook = look_ahead([make_service()], Facts([]).ask)
    assert all(
        "ownerReferences" not in publish(item.child.manifest)["metadata"]
        for item in outlook.wanted.values()
    )
    known = make_service()
    known["metadata"]["uid"] = "u1"
    manifest = find(look_ahead([known], Facts([]).ask), "Service")
    assert publish(manifest)["metadata"]["ownerReferences"][0]["uid"] == "u1"


def test_what_a_cache_owns_in_the_facts_is_its_own(make_cache):
    """As `kubectl get nimcaches,configmaps -o yaml` has it: the file to render has no uid."""
    cache = make_cache()
    live = {**cache, "metadata": cache["metadata"] | {"uid": "u1"}}
    alone = look_ahead([cache], Facts([NODE, manifest_of(cache)]).ask)
    known = look_ahead([cache], Facts([NODE, manifest_of(cache), live]).ask)
    assert "Job" not in kinds(alone)
    assert "Job" in kinds(known)


def test_nothing_that_is_given_changes(make_service, make_cache):
    given = [make_service(storage={"nimCache": {"name": "models"}}), make_cache()]
    before = copy.deepcopy(given)
    facts = Facts([NODE])
    first, second = look_ahead(given, facts.ask), look_ahead(given, facts.ask)
    assert given == before
    assert first == second


def test_a_service_of_an_unknown_cache_waits(make_service):
    outlook = look_ahead([make_service(storage={"nimCache": {"name": "models"}})], Facts([]).ask)
    assert "Deployment" not in kinds(outlook)
    assert outlook.notes == {("NIMService", "nim", "llm"): ["NIMCache models not found"]}


def test_a_cache_that_is_given_is_taken_for_ready(make_service, make_cache):
    given = [make_service(storage={"nimCache": {"name": "models"}}), make_cache()]
    outlook = look_ahead(given, Facts([]).ask)
    volume = find(outlook, "Deployment")["spec"]["template"]["spec"]["volumes"][-1]
    assert volume["persistentVolumeClaim"]["claimName"] == "models-pvc"
    assert outlook.notes == {
        ("NIMCache", "nim", "models"): [
            "taken for Ready, although waiting for Pod models-pod to run"
        ]
    }


def test_with_its_manifest_a_cache_is_ready_by_itself(make_service, make_cache):
    """The Job succeeds, the status gets its profile, and the service the GPUs of this profile."""
    cache = make_cache(engine="tensorrt_llm", precision="fp8")
    cache["metadata"]["uid"] = "u1"
    service = make_service(storage={"nimCache": {"name": "models", "profile": "p" * 64}})
    outlook = look_ahead([service, cache], Facts([NODE, manifest_of(cache)]).ask)
    assert "Pod" not in kinds(outlook)
    assert "p" * 64 in str(find(outlook, "Job"))
    container = find(outlook, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert outlook.notes == {}


def test_a_cache_that_failed_is_not_taken_for_ready(make_service, make_cache):
    cache = make_cache()
    cache["status"] = {"state": "Failed"}
    given = [make_service(storage={"nimCache": {"name": "models"}}), cache]
    assert "Deployment" not in kinds(look_ahead(given, Facts([]).ask))


def test_a_problem_keeps_what_can_be_had(make_service):
    bad = make_service(storage={})
    outlook = look_ahead([bad, make_service("other")], Facts([]).ask)
    ((key, (problem,)),) = outlook.problems.items()
    assert key == ("NIMService", "nim", "llm")
    assert problem.startswith("neither external PVC name")
    assert [key[2] for key in outlook.wanted if key[0] == "Deployment"] == ["other"]


def test_what_is_somebody_else_s_is_a_problem(make_service):
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "llm", "namespace": "nim"},
        "spec": {},
    }
    outlook = look_ahead([make_service()], Facts([foreign]).ask)
    assert "Service" not in kinds(outlook)
    ((problem,),) = outlook.problems.values()
    assert problem.startswith('Service "llm" exists and was not made by this NIMService')


def test_what_a_feature_left_goes(make_service):
    service = make_service()
    service["metadata"]["uid"] = "u1"
    service["status"] = {"state": "Ready"}
    owner = {"kind": "NIMService", "name": "llm", "uid": "u1", "controller": True}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "llm", "namespace": "nim", "ownerReferences": [owner]},
    }
    outlook = look_ahead([service], Facts([ingress]).ask)
    assert outlook.unwanted == [("Ingress", "nim", "llm")]


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "nim"}, "spec": 1}

LABELLED = Read("Node?l", "any", "Node", selector=next(iter(NODE["metadata"]["labels"])))

ANSWERS = {
    "an object": (read_object("Pod", "nim", "a"), POD),
    "no object": (read_object("Pod", "nim", "b"), None),
    "in another namespace": (read_object("Pod", "other", "a"), None),
    "a presence": (read_presence("Pod", "nim", "a"), {"metadata": POD["metadata"]}),
    "a node with a label": (LABELLED, [{"metadata": NODE["metadata"]}]),
    "no node with a label": (replace(LABELLED, selector="none"), []),
    "nodes": (read_nodes(), [{"metadata": NODE["metadata"]}]),
    "objects": (read_objects("Pod", "nim"), [POD]),
    "a log": (Read("log", "log", "Pod", "nim", "a"), ""),
    "an image": (Read("p", "protocol", image="registry.example/native:1"), "native"),
    "another image": (Read("p", "protocol", image="registry.example/llm:1"), "legacy"),
}


@pytest.mark.parametrize(("read", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_facts_answer_as_a_cluster_does(read, answer):
    facts = Facts([POD, NODE], ["registry.example/native:1"])
    assert facts.ask(read) == answer
    assert World(facts.ask).ask(read) == answer


CONTROLLER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "kserve-controller-manager",
        "namespace": "ks",
        "labels": {"control-plane": "kserve-controller-manager"},
    },
}
SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "inferenceservice-config", "namespace": "ks"},
    "data": {"deploy": '{"defaultDeploymentMode": "Knative"}'},
}


@pytest.mark.parametrize(
    ("facts", "mode"),
    [([], "Standard"), ([CONTROLLER, SETTINGS], "Knative")],
    ids=["unknown", "told"],
)
def test_the_mode_of_kserve(make_service, facts, mode):
    outlook = look_ahead([make_service(inferencePlatform="kserve")], Facts(facts).ask)
    annotations = find(outlook, "InferenceService")["metadata"]["annotations"]
    assert annotations["serving.kserve.io/deploymentMode"] == mode
    assert outlook.problems == {}


def test_a_label_selects():
    facts = Facts([CONTROLLER, POD])
    assert facts.ask(CONTROLLERS) == [{"metadata": CONTROLLER["metadata"]}]
    world = World(facts.ask)
    world.remove(("Deployment", "ks", "kserve-controller-manager"))
    assert world.ask(CONTROLLERS) == []
    world.put(CONTROLLER)
    world.put({**CONTROLLER, "metadata": {"name": "other", "namespace": "ks"}})
    assert world.ask(CONTROLLERS) == [{"metadata": CONTROLLER["metadata"]}]


def test_a_world_has_what_was_put_into_it():
    world = World(Facts([POD]).ask)
    other = {**POD, "metadata": {"name": "b", "namespace": "nim"}}
    world.put(other)
    assert world.ask(read_objects("Pod", "nim")) == [POD, other]
    world.remove(("Pod", "nim", "a"))
    assert world.ask(read_objects("Pod", "nim")) == [other]
    assert world.find("Pod", "nim", "a") is None
    assert world.find("Pod", "nim", "b") == other
    world.find("Pod", "nim", "b")["metadata"]["name"] = "c"
    assert world.find("Pod", "nim", "b") == other
