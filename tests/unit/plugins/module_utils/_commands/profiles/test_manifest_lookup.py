# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Manifests stored for a NIMCache or read from an image."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands import waiting
from ansible_collections.nimops.nim.plugins.module_utils._commands.profiles.manifest_lookup import (
    ImageLookup,
    ask_image,
    find_products,
    read_stored,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.probe_pod import build_probe_pod
from ansible_collections.nimops.nim.plugins.module_utils._nim.profiles.model_manifest import (
    BEGIN_MARK,
    END_MARK,
    NOT_FOUND,
)

MANIFEST = "abc:\n  model: acme/llm\n  tags: {gpu: H100}\n"
IMAGE = "registry.example/llm:1"
NODE = {"metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100"}}}


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path))


@pytest.fixture
def pods(cluster, monkeypatch):
    """Created pods with their state at each poll, and then their log."""
    made = []
    respond = cluster.server.respond

    def play(states, log=""):
        def answer(request):
            messages = respond(request)
            is_pod = "/pods/" in request.path
            if is_pod and request.method == "PATCH":
                made.append(request.body)
                cluster.texts[f"{request.path}/log"] = log
            if is_pod and request.method == "GET" and request.path in cluster.objects:
                cluster.objects[request.path]["status"] = states.pop(0) if states else {}
            return messages

        cluster.server.respond = answer
        return made

    ticks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(ticks), sleep=lambda _seconds: None)
    monkeypatch.setattr(waiting, "time", clock)
    return play


RUNNING = {"phase": "Running"}
WAITING = {
    "phase": "Pending",
    "containerStatuses": [
        {"name": "c", "state": {"waiting": {"reason": "ErrImagePull", "message": "denied"}}}
    ],
}


def ask(client, **options):
    messages = []
    found = ask_image(client, ImageLookup(IMAGE, "nim", **options), messages.append)
    return found, messages


def test_ask_image(cluster, client, pods):
    made = pods([WAITING, RUNNING, RUNNING], f"{BEGIN_MARK}\n{MANIFEST}\n{END_MARK}\n")
    found, messages = ask(client, pull_secrets=["pull", "other"])
    assert [profile.model for profile in found.profiles] == ["acme/llm"]
    assert [text.partition(": ")[2] for text in messages] == ["ErrImagePull: denied"]
    assert len(made) == 1
    assert cluster.objects == {}
    assert [request.method for request in cluster.calls("DELETE")] == ["DELETE"]


def test_ask_image_pod_equals_cache(client, pods):
    """The pods are equal, except for the owner and the account of a real NIMCache."""
    made = pods([RUNNING], NOT_FOUND)
    tolerations = [{"operator": "Exists"}]
    ask(
        client,
        pull_secrets=["pull"],
        node_selector={"a": "b"},
        tolerations=tolerations,
        service_account="me",
        seconds=100,
    )
    (pod,) = made
    name = pod["metadata"]["name"].removesuffix("-pod")
    source = {"ngc": {"modelPuller": IMAGE, "pullSecret": "pull"}}
    cache = {
        "apiVersion": "apps.nvidia.com/v1alpha1",
        "kind": "NIMCache",
        "metadata": {"name": name, "namespace": "nim"},
        "spec": {"source": source, "nodeSelector": {"a": "b"}, "tolerations": tolerations},
    }
    wanted = build_probe_pod(NIMCacheApp(cache), "Kubernetes")
    del wanted["metadata"]["ownerReferences"]
    wanted["spec"] |= {
        "serviceAccountName": "me",
        "automountServiceAccountToken": False,
        "activeDeadlineSeconds": 160,
    }
    assert pod == wanted


def test_ask_image_unique_names(client, pods):
    made = pods([RUNNING, RUNNING], NOT_FOUND)
    ask(client)
    ask(client)
    assert len({pod["metadata"]["name"] for pod in made}) == 2


def test_ask_image_without_manifest(cluster, client, pods):
    pods([RUNNING], NOT_FOUND)
    assert ask(client)[0] is None
    assert cluster.objects == {}


ENDS = {
    "time is up": (
        [WAITING] * 999,
        "",
        "no manifest after 9 s of waiting for Pod .*ErrImagePull",
    ),
    "it is not printed": ([RUNNING] * 999, "", "no manifest after 9 s .*to print the model"),
    "the pod ends": ([{"phase": "Failed"}], "", "printed no manifest .*it ended"),
    "no manifest": (
        [RUNNING],
        f"{BEGIN_MARK}\n[1]\n{END_MARK}",
        "the model manifest cannot be read",
    ),
}


@pytest.mark.parametrize(("states", "log", "message"), ENDS.values(), ids=ENDS)
def test_ask_image_failed_pod(cluster, client, pods, states, log, message):
    pods([dict(item) for item in states], log)
    with pytest.raises(NimError, match=message):
        ask(client, seconds=9)
    assert cluster.objects == {}


def test_ask_image_interrupted(cluster, client, pods):
    pods([WAITING])

    def stop(_text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_image(client, ImageLookup(IMAGE, "nim"), stop)
    assert cluster.objects == {}


def test_ask_image_refused_pod(cluster, client, refused):
    respond = cluster.server.respond
    cluster.server.respond = lambda request: (
        refused(403, "pods is forbidden") if request.method == "PATCH" else respond(request)
    )
    with pytest.raises(ApiError, match="pods is forbidden"):
        ask(client)


def test_ask_image_undeletable_pod(cluster, client, pods, refused):
    made = pods([RUNNING], NOT_FOUND)
    respond = cluster.server.respond
    cluster.server.respond = lambda request: (
        refused(403, "no") if request.method == "DELETE" else respond(request)
    )
    _found, messages = ask(client)
    assert messages == [
        f"{api_path('Pod', 'nim', made[0]['metadata']['name'])} could not be deleted, delete it yourself: no"
    ]


def test_ask_image_without_node_permission(cluster, client, pods, refused):
    cluster.refuse["GET", "/api/v1/nodes"] = [refused(403, "nodes is forbidden")]
    pods([RUNNING], MANIFEST.join([f"{BEGIN_MARK}\n", f"\n{END_MARK}"]))
    assert ask(client)[0]


def test_find_products(cluster, client):
    cluster.put("/api/v1/nodes/n", {"kind": "Node", **NODE})
    assert find_products(client) == ["NVIDIA-H100"]


def test_read_stored(cluster, client, make_cache):
    cluster.put(api_path("NIMCache", "nim", "models"), make_cache(precision="fp8"))
    kept = {
        "metadata": {"name": "models-manifest", "namespace": "nim"},
        "data": {"model_manifest.yaml": MANIFEST},
    }
    with pytest.raises(NimError, match="ConfigMap nim/models-manifest does not exist: NIMCache"):
        read_stored(client, "nim", "models")
    cluster.put(api_path("ConfigMap", "nim", "models-manifest"), kept)
    manifest, wanted = read_stored(client, "nim", "models")
    assert [profile.id for profile in manifest.profiles] == ["abc"]
    assert wanted == {"precision": "fp8"}
    with pytest.raises(NimError, match="NIMCache nim/other does not exist"):
        read_stored(client, "nim", "other")
