# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    ObjectKey,
    reference_to,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadDigest,
    ReadObjects,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.mode import CONTROLLERS

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "nim"}, "spec": 1}


CONTROLLER = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "kserve-controller-manager",
        "namespace": "ks",
        "labels": {"control-plane": "kserve-controller-manager"},
    },
}


def test_answer_by_label():
    facts = Facts([CONTROLLER, POD])
    assert facts.ask(CONTROLLERS) == [{"metadata": CONTROLLER["metadata"]}]
    world = SimulatedCluster(facts.ask)
    world.remove(ObjectKey("Deployment", "ks", "kserve-controller-manager"))
    assert world.answer(CONTROLLERS) == []
    world.put(CONTROLLER)
    world.put({**CONTROLLER, "metadata": {"name": "other", "namespace": "ks"}})
    assert world.answer(CONTROLLERS) == [{"metadata": CONTROLLER["metadata"]}]


def test_answer_after_put():
    world = SimulatedCluster(Facts([POD]).ask)
    other = {**POD, "metadata": {"name": "b", "namespace": "nim"}}
    world.put(other)
    assert world.answer(ReadObjects("Pod", "nim")) == [POD, other]
    world.remove(ObjectKey("Pod", "nim", "a"))
    assert world.answer(ReadObjects("Pod", "nim")) == [other]
    assert world.find(ObjectKey("Pod", "nim", "a")) is None
    assert world.find(ObjectKey("Pod", "nim", "b")) == other
    world.find(ObjectKey("Pod", "nim", "b"))["metadata"]["name"] = "c"
    assert world.find(ObjectKey("Pod", "nim", "b")) == other


def test_answer_digest_after_put():
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "nim", "resourceVersion": "1"},
        "data": {"a": "QQ=="},
    }
    read = ReadDigest("Secret", "nim", "s", ("a",), "", "")
    world = SimulatedCluster(Facts([secret]).ask)
    before = world.answer(read)
    world.put(secret | {"data": {"a": "Qg=="}})
    assert world.answer(read)["digest"] != before["digest"]
    world.remove(ObjectKey("Secret", "nim", "s"))
    assert world.answer(read) is None


def test_write_eviction(gpu):
    budget = {"kind": "PodDisruptionBudget", **gpu.budget(healthy=1, wanted=1)}
    held = {"kind": "Pod", **gpu.replica("held", "n")}
    free = {"kind": "Pod", **gpu.replica("free", "n", service="other")}
    world = SimulatedCluster(Facts([budget, held, free]).ask)
    outcome = world.write(Plan(evict=[reference_to(held, "Pod"), reference_to(free, "Pod")]))
    assert outcome.deleted == ["Pod/nim/free"]
    assert list(outcome.held) == ["Pod/nim/held"]
    assert "allows no disruption now" in outcome.held["Pod/nim/held"]
    assert world.find(ObjectKey("Pod", "nim", "free")) is None
    assert world.find(ObjectKey("Pod", "nim", "held")) == held


def test_write_orphan():
    owner = {"kind": "ConfigMap", "name": "a", "uid": "u"}
    parent = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}}
    world = SimulatedCluster(Facts([]).ask)
    world.put(parent)
    world.put({**POD, "metadata": {**POD["metadata"], "ownerReferences": [owner]}})
    done = world.write(Plan(orphan=[reference_to(parent, "ConfigMap")]))
    assert done.deleted == ["ConfigMap/a"]
    assert world.find(ObjectKey("ConfigMap", "", "a")) is None
    pod = world.find(ObjectKey("Pod", "nim", "a"))
    assert pod["metadata"]["ownerReferences"] == []
