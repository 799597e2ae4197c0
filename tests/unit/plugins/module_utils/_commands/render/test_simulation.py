# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Objects rendered from custom resources without a cluster."""

from __future__ import annotations

import copy

import pytest
import yaml
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import publish
from ansible_collections.nimops.nim.plugins.module_utils._commands.render import simulation
from ansible_collections.nimops.nim.plugins.module_utils._commands.render.simulation import (
    simulate,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import assumed_objects

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


def kinds(simulated):
    return [key[0] for key in simulated.wanted]


def find(simulated, kind):
    (found,) = [item.child.manifest for key, item in simulated.wanted.items() if key[0] == kind]
    return found


def manifest_of(cache):
    """The ConfigMap with the result of a probe of the cache's image."""
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


def test_simulate_service(make_service):
    simulated = simulate([make_service()], Facts([]).ask)
    assert kinds(simulated) == ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]
    assert simulated.problems == simulated.notes == {}
    assert simulated.unwanted == []


def test_simulate_settled(make_service, make_cache, monkeypatch):
    """A pass over a resource that changed nothing is not repeated while others are created."""
    passes = []

    def count(kind, resource, cluster):
        passes.append(resource["metadata"]["name"])
        return reconcile(kind, resource, cluster)

    monkeypatch.setattr(simulation, "reconcile", count)
    plain, cache = make_service(), make_cache()
    other = make_service("other", storage={"nimCache": {"name": "models"}})
    simulated = simulate([plain, other, cache], Facts([]).ask)
    assert simulated.problems == {}
    assert passes.count("llm") == 2
    assert passes.count("models") > 2 < passes.count("other")


def test_simulate_paused(make_service):
    service = make_service()
    service["metadata"]["annotations"] = {"nimops.nim/paused": "true"}
    simulated = simulate([service], Facts([]).ask)
    assert "Deployment" in kinds(simulated)
    ((note,),) = simulated.notes.values()
    assert note.startswith("it is paused: nothing is written until")


def test_simulate_owner_uid(make_service):
    simulated = simulate([make_service()], Facts([]).ask)
    assert all(
        "ownerReferences" not in publish(item.child.manifest)["metadata"]
        for item in simulated.wanted.values()
    )
    known = make_service()
    known["metadata"]["uid"] = "u1"
    manifest = find(simulate([known], Facts([]).ask), "Service")
    assert publish(manifest)["metadata"]["ownerReferences"][0]["uid"] == "u1"


@pytest.mark.parametrize(("value", "owners"), [("true", None), ("false", ["u1"])])
def test_simulate_kept_claim(make_cache, value, owners):
    """A claim to keep loses its owner in a later pass."""
    cache = make_cache()
    cache["metadata"] |= {"uid": "u1", "annotations": {"nimops.nim/keep-claim": value}}
    claim = find(simulate([cache], Facts([]).ask), "PersistentVolumeClaim")
    found = publish(claim)["metadata"].get("ownerReferences")
    assert (found and [item["uid"] for item in found]) == owners


def test_simulate_cache_in_facts(make_cache):
    """Facts in the form of `kubectl get nimcaches,configmaps -o yaml`; rendered files have no uid."""
    cache = make_cache()
    live = {**cache, "metadata": cache["metadata"] | {"uid": "u1"}}
    alone = simulate([cache], Facts([NODE, manifest_of(cache)]).ask)
    known = simulate([cache], Facts([NODE, manifest_of(cache), live]).ask)
    assert "Job" not in kinds(alone)
    assert "Job" in kinds(known)


def test_simulate_keeps_input(make_service, make_cache):
    given = [make_service(storage={"nimCache": {"name": "models"}}), make_cache()]
    before = copy.deepcopy(given)
    facts = Facts([NODE])
    first, second = simulate(given, facts.ask), simulate(given, facts.ask)
    assert given == before
    assert first == second


def test_simulate_unknown_cache(make_service):
    simulated = simulate([make_service(storage={"nimCache": {"name": "models"}})], Facts([]).ask)
    assert "Deployment" not in kinds(simulated)
    assert simulated.notes == {("NIMService", "nim", "llm"): ["NIMCache models not found"]}


def test_simulate_given_cache(make_service, make_cache):
    given = [make_service(storage={"nimCache": {"name": "models"}}), make_cache()]
    simulated = simulate(given, Facts([]).ask)
    volume = find(simulated, "Deployment")["spec"]["template"]["spec"]["volumes"][-1]
    assert volume["persistentVolumeClaim"]["claimName"] == "models-pvc"
    assert simulated.notes == {
        ("NIMCache", "nim", "models"): ["assumed Ready, although waiting for Pod models-pod to run"]
    }


def test_simulate_cache_with_manifest(make_service, make_cache):
    """The Job succeeds, the status gets the profile, and the service gets the profile's GPUs."""
    cache = make_cache(engine="tensorrt_llm", precision="fp8")
    cache["metadata"]["uid"] = "u1"
    service = make_service(storage={"nimCache": {"name": "models", "profile": "p" * 64}})
    simulated = simulate([service, cache], Facts([NODE, manifest_of(cache)]).ask)
    assert "Pod" not in kinds(simulated)
    assert "p" * 64 in str(find(simulated, "Job"))
    container = find(simulated, "Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "4"}
    assert simulated.notes == {}


def test_simulate_failed_cache(make_service, make_cache):
    """A cache in a cluster whose download has failed for good."""
    cache = make_cache()
    cache["metadata"]["uid"] = "u1"
    cache["status"] = {"state": "Failed"}
    mine = manifest_of(cache)["metadata"]["ownerReferences"]
    claim = {"name": "models-pvc", "namespace": "nim", "ownerReferences": mine}
    job = {"name": "models-job", "namespace": "nim", "ownerReferences": mine}
    spec = {"template": {"spec": {"containers": []}}}
    given_up = {"conditions": [{"type": "Failed", "status": "True", "message": "x"}]}
    facts = [
        NODE,
        manifest_of(cache),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": claim, "spec": {}},
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": job,
            "spec": spec,
            "status": given_up,
        },
    ]
    given = [make_service(storage={"nimCache": {"name": "models"}}), cache]
    assert "Deployment" not in kinds(simulate(given, Facts(facts).ask))


def test_simulate_problem_keeps_children(make_service):
    bad = make_service(storage={})
    simulated = simulate([bad, make_service("other")], Facts([]).ask)
    ((key, (problem,)),) = simulated.problems.items()
    assert key == ("NIMService", "nim", "llm")
    assert problem.startswith("neither external PVC name")
    assert [key[2] for key in simulated.wanted if key[0] == "Deployment"] == ["other"]


def test_simulate_foreign_object(make_service):
    foreign = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "llm", "namespace": "nim"},
        "spec": {},
    }
    simulated = simulate([make_service()], Facts([foreign]).ask)
    assert "Service" not in kinds(simulated)
    ((problem,),) = simulated.problems.values()
    assert problem.startswith('Service "llm" exists and was not created by this NIMService')


def test_simulate_leftovers(make_service):
    service = make_service()
    service["metadata"]["uid"] = "u1"
    service["status"] = {"state": "Ready"}
    owner = {"kind": "NIMService", "name": "llm", "uid": "u1", "controller": True}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "llm", "namespace": "nim", "ownerReferences": [owner]},
    }
    simulated = simulate([service], Facts([ingress]).ask)
    assert simulated.unwanted == [("Ingress", "nim", "llm")]


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
    ids=["unknown", "known"],
)
def test_simulate_kserve_mode(make_service, facts, mode):
    simulated = simulate(
        [make_service(inferencePlatform="kserve")], Facts(facts, assumed=assumed_objects()).ask
    )
    annotations = find(simulated, "InferenceService")["metadata"]["annotations"]
    assert annotations["serving.kserve.io/deploymentMode"] == mode
    assert simulated.problems == {}
