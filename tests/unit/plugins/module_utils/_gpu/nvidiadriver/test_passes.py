# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passes over a ClusterPolicy and NVIDIADrivers, with all that happens between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    identity,
    object_identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.kind import (
    KIND as POLICY,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.kind import (
    KIND as DRIVER,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states

IMAGE = {"repository": "r.example", "image": "driver", "version": "1"}
NFD = "feature.node.kubernetes.io/"
SYSTEM = {
    f"{NFD}pci-10de.present": "true",
    f"{NFD}system-os_release.ID": "ubuntu",
    f"{NFD}system-os_release.VERSION_ID": "24.04",
}


class Stage:
    """A cluster with GPUs, and what the operator makes of it."""

    def __init__(self, replay, gpu, nodes):
        self.cluster, self.evicted, self.reports = replay.Cluster(), [], {}
        self._blocks = replay._REQUIRED.split()
        for name, own in nodes.items():
            node = {"kind": "Node", **gpu.node(name, labels=SYSTEM | own)}
            node["status"]["nodeInfo"] = {"containerRuntimeVersion": "containerd://2"}
            self.cluster.put(node)
        owner = {"name": "o", "namespace": "nim", "uid": "uid-ReplicaSet"}
        self.cluster.put({"kind": "ReplicaSet", "metadata": owner})

    def put_policy(self, **driver):
        spec = {key: {} for key in self._blocks} | {"driver": {**IMAGE, **driver}}
        self._put(POLICY, "p", spec)

    def put_driver(self, name, **spec):
        self._put(DRIVER, name, {"driverType": "gpu", "default": False, **IMAGE, **spec})

    def _put(self, kind, name, spec):
        manifest = {"apiVersion": kind.api_version, "kind": kind.name}
        self.cluster.create({**manifest, "metadata": {"name": name}, "spec": spec})

    def run(self, count=1):
        for _number in range(count):
            self.cluster.run_controllers()
            for kind in (POLICY, DRIVER):
                for item in [item for item in self.cluster.objects if item["kind"] == kind.name]:
                    done = reconcile(kind, item, self.cluster)
                    self.reports[kind.name, item["metadata"]["name"]] = done.report
                    self.evicted += [pod["metadata"]["name"] for pod in done.plan.evict]

    def delete_driver(self, name):
        """Delete one as a user does: its finalizer runs, and then it is gone."""
        item = self.find("NVIDIADriver", name)
        item["metadata"]["deletionTimestamp"] = "now"
        reconcile(DRIVER, item, self.cluster)
        self.cluster.remove(identity(item))

    def find(self, kind, name):
        return self.cluster.find(object_identity(kind, "gpu-operator", name))

    def status(self, kind, name):
        return self.find(kind, name)["status"]

    def error_of(self, kind, name):
        conditions = self.status(kind, name)["conditions"]
        error = next(item for item in conditions if item["type"] == "Error")
        return error["reason"], error["message"]

    def drivers(self):
        """Node -> the driver pod on it."""
        found = {}
        for item in self.cluster.objects:
            labels = item["metadata"].get("labels") or {}
            if item["kind"] == "Pod" and labels.get("app.kubernetes.io/component"):
                assert item["spec"]["nodeName"] not in found, "two drivers on one node"
                found[item["spec"]["nodeName"]] = item
        return found

    def nodes(self, label):
        nodes = [item["metadata"] for item in self.cluster.objects if item["kind"] == "Node"]
        return {item["name"]: item["labels"].get(label) for item in nodes}

    def daemon_sets(self):
        found = [item["metadata"] for item in self.cluster.objects if item["kind"] == "DaemonSet"]
        return {
            item["name"]: item["ownerReferences"][0]["name"]
            for item in found
            if "app.kubernetes.io/component" in item["labels"]
        }


@pytest.fixture
def stage(load_module, gpu_objects):
    replay = load_module(Path(__file__).parents[1] / "clusterpolicy/replay.py")

    def make(**nodes):
        return Stage(replay, gpu_objects, nodes or {"a": {}, "b": {}})

    return make


def uids(pods):
    return {node: pod["metadata"]["uid"] for node, pod in pods.items()}


def test_passes_handover_then_upgrade(stage, gpu_objects):
    made = stage()
    made.put_policy()
    made.run(6)
    before = uids(made.drivers())
    assert (set(before), made.status("ClusterPolicy", "p")["state"]) == ({"a", "b"}, "ready")
    made.cluster.put({"kind": "Pod", **gpu_objects.pod("w", "a", gpus=1)})
    made.put_policy(useNvidiaDriverCRD=True)
    made.run(3)
    assert made.daemon_sets() == {}
    assert uids(made.drivers()) == before, "the pods are orphans, and run"
    made.put_driver("all", default=True)
    made.run(2)
    assert made.nodes(OWNER) == {"a": "all", "b": "all"}
    assert uids(made.drivers()) == before
    seen = set()
    for _number in range(40):
        made.run()
        found = made.nodes(labels.STATE)
        running = [state for state in found.values() if state in states.RUNNING]
        assert len(running) <= 1
        seen |= set(found.values())
        if running:
            assert made.error_of("ClusterPolicy", "p")[1].startswith(
                "ClusterPolicy is not ready; NVIDIADriver upgrade has not completed"
            )
    assert {states.REQUIRED, states.CORDON, states.RESTART, states.VALIDATION} <= seen
    after = made.drivers()
    (name,) = made.daemon_sets()
    owners = {pod["metadata"]["ownerReferences"][0]["name"] for pod in after.values()}
    assert (set(after), owners) == ({"a", "b"}, {name})
    assert made.evicted == ["w"]
    assert set(made.nodes(labels.STATE).values()) == {states.DONE}
    assert made.status("NVIDIADriver", "all")["state"] == "ready"
    assert made.status("ClusterPolicy", "p")["state"] == "ready"
    assert not made.find("Node", "a")["spec"].get("unschedulable")


def test_passes_selected_driver(stage):
    made = stage(a={"pool": "new"}, b={}, c={f"{NFD}system-os_release.VERSION_ID": "22.04"})
    made.put_policy(useNvidiaDriverCRD=True)
    made.put_driver("rest", default=True)
    made.put_driver("new", nodeSelector={"pool": "new"}, version="2")
    made.run(8)
    assert made.nodes(OWNER) == {"a": "new", "b": "rest", "c": "rest"}
    assert sorted(made.daemon_sets().values()) == ["new", "rest", "rest"]
    by = {
        node: pod["metadata"]["ownerReferences"][0]["name"] for node, pod in made.drivers().items()
    }
    assert len(set(by.values())) == 3
    assert {made.status("NVIDIADriver", name)["state"] for name in ("new", "rest")} == {"ready"}


def test_passes_conflict(stage):
    made = stage(a={"pool": "new"}, b={})
    made.put_policy(useNvidiaDriverCRD=True)
    made.put_driver("rest", default=True)
    made.put_driver("new", nodeSelector={"pool": "new"})
    made.run(8)
    before = uids(made.drivers())
    made.put_driver("twin", nodeSelector={"pool": "new"})
    made.run(4)
    conflict = (
        "ConflictingNodeSelector",
        "multiple NVIDIADrivers match the same node a: [new twin]",
    )
    assert made.error_of("NVIDIADriver", "new") == made.error_of("NVIDIADriver", "twin") == conflict
    assert made.status("NVIDIADriver", "rest")["state"] == "ready"
    assert made.nodes(OWNER) == {"a": "new", "b": "rest"}
    assert uids(made.drivers()) == before
    made.delete_driver("new")
    made.run(6)
    assert made.nodes(OWNER) == {"a": "twin", "b": "rest"}
    assert made.status("NVIDIADriver", "twin")["state"] == "ready"


def test_passes_deleted_driver(stage):
    made = stage()
    made.put_policy(useNvidiaDriverCRD=True)
    made.put_driver("all")
    made.run(6)
    assert set(made.drivers()) == {"a", "b"}
    made.delete_driver("all")
    made.run(3)
    assert made.nodes(OWNER) == {"a": None, "b": None}
    assert (made.daemon_sets(), made.drivers()) == ({}, {})
    left = [
        item["kind"] for item in made.cluster.objects if "-driver-all-" in item["metadata"]["name"]
    ]
    assert left == []


def test_passes_hand_back(stage):
    made = stage()
    made.put_policy(useNvidiaDriverCRD=True)
    made.put_driver("all", default=True)
    made.run(8)
    before = uids(made.drivers())
    made.put_policy()
    made.run(4)
    assert uids(made.drivers()) == before
    assert made.daemon_sets() == {"nvidia-driver-daemonset": "p"}
    assert made.nodes(OWNER) == {"a": None, "b": None}
    assert made.status("NVIDIADriver", "all")["state"] == "disabled"


def test_passes_settled(stage):
    made = stage()
    made.put_policy(useNvidiaDriverCRD=True)
    made.put_driver("all", default=True)
    made.run(10)
    made.cluster.run_controllers()
    driver = made.find("NVIDIADriver", "all")
    done = reconcile(DRIVER, driver, made.cluster)
    plan = done.plan
    assert (plan.patch, plan.prune, plan.orphan, plan.evict, plan.adopt) == ([], [], [], [], [])
    assert done.report.period == ""
