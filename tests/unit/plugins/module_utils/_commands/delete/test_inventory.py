# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.delete.inventory import (
    take_inventory,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    KINDS,
    api_path,
    collection_path,
)


@pytest.fixture
def look(cluster, tmp_path):
    """The inventory of resources, each given by kind and name."""
    client = Client(cluster.kubeconfig(tmp_path))

    def take(*names):
        items = [client.get(api_path(kind, "nim", name)) for kind, name in names]
        return take_inventory(client, items)

    return take


CACHE = ("NIMCache", "models")
LOSS = "PersistentVolumeClaim nim/models-pvc (50Gi), and its data"


def test_inventory_of_cache(place, look):
    place.put_cache("models", "pv")
    place.put("ConfigMap", "foreign")
    place.put_service("llm", "models")
    place.put_service("other", "another")
    place.put("NIMBuild", "engine", spec={"nimCache": {"name": "models"}})
    found = look(CACHE)
    assert found.lines() == [
        "- delete NIMCache nim/models",
        "- delete Job nim/models-job",
        "- keep PersistentVolumeClaim nim/models-pvc: NIMBuild engine, NIMService llm use it",
        "! NIMService nim/llm uses NIMCache nim/models, and does not start without it",
        "! NIMBuild nim/engine uses NIMCache nim/models, and does not start without it",
    ]
    assert found.lost == {}


def test_inventory_of_unused_cache(place, look):
    place.put_cache("models", "pv")
    found = look(CACHE)
    assert found.lines()[-1] == f"- delete {LOSS}"
    assert list(found.lost.values()) == [LOSS]


def test_inventory_claim_to_keep(place, look):
    place.put_cache("models", "pv")
    marks = {"annotations": {"nimops.nim/keep-claim": "true"}}
    place.put("NIMCache", "models", spec={}, metadata=marks)
    found = look(CACHE)
    why = "the annotation nimops.nim/keep-claim is set"
    assert found.lines()[-1] == f"- keep PersistentVolumeClaim nim/models-pvc: {why}"


def test_inventory_pod_uses_claim(place, look):
    place.put_cache("models", "pv")
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "models-pvc"}}
    place.put("Pod", "shell", spec={"volumes": [volume]})
    why = "Pod shell uses it"
    assert look(CACHE).lines()[-1] == f"- keep PersistentVolumeClaim nim/models-pvc: {why}"


def test_inventory_users_that_go_as_well(place, look):
    place.put_cache("models")
    place.put_service("llm", "models")
    found = look(("NIMService", "llm"), CACHE)
    assert (found.notes, found.kept) == ([], {})


@pytest.mark.parametrize(
    ("claim", "lost"),
    [
        pytest.param({"volume": "pv"}, [LOSS], id="deleted"),
        pytest.param({}, [], id="no volume yet"),
        pytest.param(
            {"volume": "pv", "policy": "Retain"},
            [f"{LOSS[:-14]}, whose data only PersistentVolume pv keeps"],
            id="retained",
        ),
    ],
)
def test_inventory_lost_claims(place, look, claim, lost):
    place.put_cache("models", **claim)
    assert list(look(CACHE).lost.values()) == lost


def test_inventory_unknown_volume(place, look, denied):
    """Without permission to read volumes, data counts as lost."""
    place.put_cache("models", "pv")
    path = collection_path("v1", "persistentvolumes", None, "pv")
    place.cluster.refuse["GET", path] = [denied]
    assert list(look(CACHE).lost.values()) == [LOSS]


def test_inventory_claim_of_others(place, look):
    """A claim stays that another resource owns as well, or nothing."""
    place.put("NIMCache", "models", spec={})
    place.put_claim("shared", "NIMCache/models", "NIMCache/other", volume="pv")
    place.put_claim("given", volume="pv")
    found = look(CACHE)
    assert (found.children, found.lost) == ([], {})


def test_inventory_of_pipeline(place, look):
    """The objects of the services go as well, with their claims."""
    place.put("NIMPipeline", "rag")
    place.put_service("llm", "", "NIMPipeline/rag")
    place.put_claim("llm-pvc", "NIMService/llm", volume="pv")
    found = look(("NIMPipeline", "rag"))
    assert found.lines() == [
        "- delete NIMPipeline nim/rag",
        "- delete NIMService nim/llm",
        "- delete Deployment nim/llm",
        "- delete PersistentVolumeClaim nim/llm-pvc (50Gi), and its data",
    ]


def test_inventory_service_of_pipeline(place, look):
    place.put("NIMPipeline", "rag")
    place.put_service("llm", "", "NIMPipeline/rag")
    (note,) = look(("NIMService", "llm")).notes
    assert note == "nimpipeline/rag creates NIMService nim/llm again: remove its entry there"
    assert look(("NIMPipeline", "rag"), ("NIMService", "llm")).notes == []


def test_inventory_without_permission(place, look, denied):
    place.put_cache("models", "pv")
    for kind in ("Secret", "ConfigMap", "PersistentVolumeClaim"):
        place.cluster.refuse["GET", api_path(kind, "nim")] = [denied]
    found = look(CACHE)
    assert found.notes == [
        "you may not list the ConfigMaps of namespace nim, so they are not shown"
    ]
    assert list(found.lost.values()) == [
        "you may not list the PersistentVolumeClaims of namespace nim, so data may be lost"
    ]
    assert found.lines()[-2].startswith("- you may not list the PersistentVolumeClaims")


def test_inventory_kinds_not_served(place, look):
    place.put_service("llm")
    gone = [KINDS[kind].plural for kind in ("LeaderWorkerSet", "InferencePool")]
    answer = place.cluster.server.respond

    def respond(request):
        if request.path.rsplit("/", 1)[-1] in gone:
            request.path = "/nothing/x"
        return answer(request)

    place.cluster.server.respond = respond
    assert [item["kind"] for item in look(("NIMService", "llm")).children] == ["Deployment"]


def test_inventory_cluster_scoped(place, look):
    """An object without an owner reference, in another namespace, has the uid of its owner."""
    place.put("ClusterPolicy", "gpu")
    mark = {"annotations": {"nimops.nim/owner-uid": "ClusterPolicy/gpu"}}
    place.put("DaemonSet", "driver", metadata=mark)
    place.put("RuntimeClass", "nvidia", "ClusterPolicy/gpu")
    place.put("RuntimeClass", "other")
    assert look(("ClusterPolicy", "gpu")).lines() == [
        "- delete ClusterPolicy gpu",
        "- delete DaemonSet nim/driver",
        "- delete RuntimeClass nvidia",
    ]
