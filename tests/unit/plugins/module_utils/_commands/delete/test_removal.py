# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Deletions that take a while: each pause runs the next step of a script."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands import waiting
from ansible_collections.nimops.nim.plugins.module_utils._commands.delete.inventory import (
    take_inventory,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.delete.removal import Removal
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

FINALIZER = "finalizer.nimservice.apps.nvidia.com"
LEAVING = {"deletionTimestamp": "t"}


class Script:
    """A removal, and what happens in each of its pauses."""

    def __init__(self, cluster, client):
        self.cluster, self.client = cluster, client
        self.steps, self.messages, self.finalized, self.now = [], [], [], 0.0

    def sleep(self, seconds):
        self.now += seconds
        if self.steps:
            self.steps.pop(0)()

    def start(self, kind, name):
        live = self.client.get(api_path(kind, "nim", name))
        found = take_inventory(self.client, [live])
        return Removal(self.client, found, "kubectl nim release", self.messages.append)


@pytest.fixture
def script(cluster, tmp_path, monkeypatch):
    made = Script(cluster, Client(cluster.kubeconfig(tmp_path)))
    clock = SimpleNamespace(monotonic=lambda: made.now, sleep=made.sleep)
    monkeypatch.setattr(waiting, "time", clock)
    return made


def pod(place, name, claim, **metadata):
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim}}
    place.put("Pod", name, spec={"volumes": [volume]}, metadata=metadata)


def test_removal_waits_with_reasons(script, place):
    place.put_service("llm", finalizers=[FINALIZER])
    place.put_claim("llm-pvc", "NIMService/llm", volume="pv")
    removal = script.start("NIMService", "llm")
    place.put_service("llm", finalizers=[FINALIZER], **LEAVING)
    script.steps = [
        lambda: None,
        lambda: place.drop("NIMService", "llm"),
        lambda: (
            place.drop("Deployment", "llm"),
            pod(place, "llm-1", "llm-pvc"),
            pod(place, "other", "another"),
            place.put_claim("llm-pvc", "NIMService/llm", volume="pv", **LEAVING),
        ),
        lambda: place.drop("Pod", "llm-1"),
        lambda: place.drop("PersistentVolumeClaim", "llm-pvc"),
    ]
    removal.wait(60)
    assert script.messages == [
        f"NIMService nim/llm: is being deleted (finalizers: {FINALIZER})",
        "waiting for Deployment nim/llm and 1 more",
        "PersistentVolumeClaim nim/llm-pvc: is in use by Pod llm-1",
        "PersistentVolumeClaim nim/llm-pvc: is being deleted",
    ]


def test_removal_timeout(script, place):
    place.put_service("llm", finalizers=[FINALIZER], **LEAVING)
    with pytest.raises(NimError) as caught:
        script.start("NIMService", "llm").wait(5)
    assert str(caught.value) == (
        f"not gone after 5 s: NIMService nim/llm: is being deleted (finalizers: {FINALIZER})."
        " The operator removes its finalizers; without one, kubectl nim release does"
    )
    assert len(script.messages) == 1


def test_removal_child_with_finalizer(script, place):
    place.put_service("llm")
    removal = script.start("NIMService", "llm")
    place.put("Deployment", "llm", "NIMService/llm", metadata=LEAVING | {"finalizers": ["x/y"]})
    removal.delete(script.finalized.extend)
    with pytest.raises(
        NimError, match=r"Deployment nim/llm: is being deleted \(finalizers: x/y\)$"
    ):
        removal.wait(2)


def test_removal_of_recreated(script, place):
    """Another resource of the same name stays, and does not count."""
    place.put_service("llm")
    removal = script.start("NIMService", "llm")
    place.drop("Deployment", "llm")
    place.put("NIMService", "llm", metadata={"uid": "another"})
    removal.delete(script.finalized.extend)
    removal.wait(5)
    assert place.has("NIMService", "llm")


def test_removal_survives_short_failure(script, place, answer):
    place.put_service("llm")
    removal = script.start("NIMService", "llm")
    removal.delete(script.finalized.extend)
    path = api_path("NIMService", "nim")
    script.cluster.refuse["GET", path] = [answer(500, {"message": "etcd is away"})]
    script.steps = [lambda: place.drop("Deployment", "llm")]
    path = api_path("Deployment", "nim")
    script.cluster.refuse["GET", path] = [answer(500, {"message": "etcd is away"})]
    removal.wait(60)
    assert script.messages[0] == "etcd is away"


def test_removal_of_cache_waits_for_services(script, place):
    """The garbage collector deletes those of a NIMPipeline, which would keep the claim until then."""
    place.put("NIMPipeline", "all")
    place.put_service("llm", "models", "NIMPipeline/all")
    place.put_cache("models")
    live = [
        script.client.get(api_path(kind, "nim", name))
        for kind, name in (("NIMPipeline", "all"), ("NIMCache", "models"))
    ]
    found = take_inventory(script.client, live)
    seen = []
    script.steps = [
        lambda: seen.append(place.has("NIMCache", "models")),
        lambda: place.put_service("llm", "models", finalizers=[FINALIZER], **LEAVING),
    ]
    removal = Removal(script.client, found, "", script.messages.append)
    services = []

    def finalize(resources):
        """The claim of a cache is kept for a service that is not being deleted."""
        service = script.client.get(api_path("NIMService", "nim", "llm"))
        is_leaving = "deletionTimestamp" in service["metadata"]
        services.extend((item["metadata"]["name"], is_leaving) for item in resources)

    removal.delete(finalize)
    assert (seen, found.kept) == ([True], {})
    assert sorted(services[:-1]) == [("all", False), ("llm", False)]
    assert services[-1] == ("models", True)
    assert not place.has("NIMCache", "models")
