# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A driver is upgraded by passes over a ClusterPolicy, in a cluster with controllers."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import (
    identity,
    object_identity,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadTime
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states

DRIVER = {"repository": "r.example", "image": "driver", "version": "1"}
NFD = {
    "feature.node.kubernetes.io/pci-10de.present": "true",
    "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
    "feature.node.kubernetes.io/system-os_release.VERSION_ID": "24.04",
}


BESIDE = ("dcgmExporter", "dcgm", "nodeStatusExporter", "gfd", "migManager")
"""Operands that no driver waits for. Each makes a pass longer."""


class Stage:
    """A ready cluster whose driver was changed just now, without the operands beside the driver's."""

    def __init__(self, replay, gpu, nodes, pods, upgrade):
        self.cluster = replay.Cluster()
        self.seen, self.evicted = [], []
        self.blocks = {key: {} for key in replay._REQUIRED.split()}
        self.blocks |= {key: {"enabled": False} for key in BESIDE}
        self._upgrade = {"autoUpgrade": True, **upgrade}
        for name in nodes:
            node = {"kind": "Node", **gpu.node(name, labels=NFD)}
            node["status"]["nodeInfo"] = {"containerRuntimeVersion": "containerd://2"}
            self.cluster.put(node)
        owner = {"name": "o", "namespace": "nim", "uid": "uid-ReplicaSet"}
        self.cluster.put({"kind": "ReplicaSet", "metadata": owner})
        self.put_policy("1")
        self.run(8)
        for pod in pods:
            self.cluster.put({"kind": "Pod", **pod})
        self.put_policy("2")

    def put_policy(self, version, license_="", **upgrade):
        driver = DRIVER | {"version": version, "upgradePolicy": self._upgrade | upgrade}
        if license_:
            driver["licensingConfig"] = {"secretName": license_}
        spec = self.blocks | {"driver": driver}
        manifest = {"apiVersion": KIND.api_version, "kind": KIND.name}
        self.cluster.create({**manifest, "metadata": {"name": "p"}, "spec": spec})

    def take_pass(self, error=""):
        self.cluster.run_controllers()
        policy = self.cluster.find(object_identity(KIND.name, "", "p"))
        done = reconcile(KIND, policy, self.cluster)
        assert error in done.report.error if error else not done.report.error, done.report.error
        self.seen.append(self.states())
        self.evicted += [item["metadata"]["name"] for item in done.plan.evict]
        return done

    def run(self, count):
        for _number in range(count):
            self.take_pass()

    def states(self):
        nodes = [item["metadata"] for item in self.cluster.objects if item["kind"] == "Node"]
        return {item["name"]: item["labels"].get(labels.STATE, "") for item in nodes}

    def pods(self, start):
        pods = [item for item in self.cluster.objects if item["kind"] == "Pod"]
        return [item for item in pods if item["metadata"]["name"].startswith(start)]

    def node(self, name):
        return self.cluster.find(object_identity("Node", "", name))


@pytest.fixture(scope="session")
def gpu(gpu_objects):
    """Objects of a cluster, not those of a ClusterPolicy."""
    return gpu_objects


@pytest.fixture
def stage(load_module, gpu):
    replay = load_module(Path(__file__).with_name("replay.py"))
    return lambda nodes, pods=(), **upgrade: Stage(replay, gpu, nodes, pods, upgrade)


def images_of(stage):
    return {
        pod["metadata"]["labels"]["controller-revision-hash"] for pod in stage.pods("nvidia-driver")
    }


def test_passes_all_states(stage, gpu):
    made = stage(["a", "b"], [gpu.pod("w", "a", gpus=1)])
    assert made.states() == {"a": states.DONE, "b": states.DONE}
    old = images_of(made)
    made.run(30)
    assert list(dict.fromkeys(seen["a"] for seen in made.seen))[1:] == [
        *(states.DONE, states.REQUIRED, states.CORDON, states.JOBS, states.POD_DELETION),
        *(states.RESTART, states.VALIDATION, states.UNCORDON),
    ]
    assert made.states() == {"a": states.DONE, "b": states.DONE}
    assert not images_of(made) & old
    assert (made.pods("w"), made.evicted) == ([], ["w"])
    assert not any(made.node(name)["spec"].get("unschedulable") for name in "ab")
    assert not any(labels.SINCE in made.node(name)["metadata"]["annotations"] for name in "ab")
    assert all(sum(state in states.RUNNING for state in seen.values()) <= 1 for seen in made.seen)


def test_passes_not_ready_during_upgrade(stage):
    """G15: also between two nodes, and while the new driver of the last one is validated."""
    made, seen = stage(["a", "b"]), []
    for _number in range(30):
        status = made.take_pass().report.status
        seen.append((status["state"], made.states() == {"a": states.DONE, "b": states.DONE}))
    assert [item for item in dict.fromkeys(seen) if item[0] == "ready"] == [("ready", True)]
    start, end = seen.index(("notReady", False)), len(seen) - seen[::-1].index(("notReady", False))
    assert {state for state, _is_done in seen[start:end]} == {"notReady"}
    assert seen[-1] == ("ready", True)


def test_passes_finished_upgrade(stage):
    made = stage(["a"])
    made.run(20)
    for _number in range(2):
        done = made.take_pass()
        assert (done.plan.patch, done.plan.evict, done.plan.prune) == ([], [], [])
        assert done.report.period == ""


def cordon(made, name, *, is_cordoned=True):
    node = copy.deepcopy(made.node(name))
    node["spec"] = {"unschedulable": True} if is_cordoned else {}
    made.cluster.put(node)


def test_passes_cordoned_while_waiting(stage, gpu):
    """An administrator cordons a node that waits for its turn."""
    pods = [gpu.pod("w", "b", gpus=1)]
    made = stage(["a", "b", "c", "d"], pods, maxUnavailable=2)
    made.run(3)
    assert made.states()["b"] == states.REQUIRED
    cordon(made, "b")
    made.run(40)
    assert made.states() == {**dict.fromkeys("acd", states.DONE), "b": states.REQUIRED}
    assert (len(made.pods("w")), made.node("b")["spec"]["unschedulable"]) == (1, True)
    cordon(made, "b", is_cordoned=False)
    made.run(12)
    assert made.states()["b"] == states.DONE
    assert "unschedulable" not in made.node("b")["spec"]


def test_passes_uncordoned_while_waiting(stage):
    """The reverse: it was cordoned when its upgrade became necessary."""
    made = stage(["a", "b", "c", "d"], maxUnavailable=2)
    cordon(made, "b")
    made.run(2)
    assert made.states()["b"] == states.REQUIRED
    cordon(made, "b", is_cordoned=False)
    made.run(40)
    assert made.states() == dict.fromkeys("abcd", states.DONE)
    assert not any(made.node(name)["spec"].get("unschedulable") for name in "abcd")


def test_passes_budget_holds_pod(stage, gpu):
    budget = {"kind": "PodDisruptionBudget", **gpu.budget(expected=1, wanted=1, healthy=1)}
    made = stage(["a"], [gpu.replica("llm", "a")])
    made.cluster.put(budget)
    made.run(6)
    assert made.states() == {"a": states.REQUIRED}, "it could not be drained, so it is not begun"
    made.cluster.remove(identity(budget))
    made.cluster.put({"kind": "PodDisruptionBudget", **gpu.budget(expected=2, wanted=1, healthy=1)})
    made.run(6)
    assert (made.evicted[-1:], len(made.pods("llm"))) == (["llm"], 1)
    assert made.states() == {"a": states.POD_DELETION}
    made.cluster.put({"kind": "PodDisruptionBudget", **gpu.budget(expected=2, wanted=1, healthy=2)})
    made.run(6)
    assert (made.pods("llm"), made.states()) == ([], {"a": states.DONE})


def test_passes_interrupted(stage, gpu, monkeypatch):
    made = stage(
        ["a", "b"], [gpu.pod("w", "a", gpus=1)], maxUnavailable="100%", maxParallelUpgrades=0
    )
    whole = made.cluster.write
    for number in range(60):
        cut = number % 3 if number < 45 else 9

        def write(plan, cut=cut):
            part = copy.copy(plan)
            part.patch, part.evict = plan.patch[:cut], plan.evict[: cut // 2]
            return whole(part)

        monkeypatch.setattr(made.cluster, "write", write)
        made.take_pass()
    assert made.states() == {"a": states.DONE, "b": states.DONE}
    assert made.pods("w") == []


def test_passes_switched_off(stage):
    made = stage(["a"])
    made.run(4)
    assert made.node("a")["spec"]["unschedulable"]
    made.put_policy("2", autoUpgrade=False)
    made.run(2)
    assert made.states() == {"a": ""}
    assert "unschedulable" not in made.node("a")["spec"]


def put_license(made, version, content):
    metadata = {"name": "lic", "namespace": "gpu-operator", "resourceVersion": version}
    made.cluster.put({"kind": "Secret", "metadata": metadata, "data": {"gridd.conf": content}})


def test_passes_license_rotated(stage, gpu):
    made = stage(["a"])
    put_license(made, "7", "old")
    made.put_policy("2", "lic")
    made.run(30)
    made.cluster.put({"kind": "Pod", **gpu.pod("w2", "a", gpus=1)})
    old = images_of(made)
    put_license(made, "8", "old")
    made.run(3)
    assert (images_of(made), made.states()) == (old, {"a": states.DONE}), "the same content"
    put_license(made, "9", "new")
    made.run(20)
    assert not images_of(made) & old
    assert made.states() == {"a": states.DONE}
    assert len(made.pods("w2")) == 1, "the driver is not installed again"
    assert "unschedulable" not in made.node("a")["spec"]
    assert made.take_pass().plan.patch == []


def test_passes_license_rotated_without_upgrades(stage):
    made = stage(["a"], autoUpgrade=False)
    put_license(made, "7", "old")
    made.put_policy("1", "lic")
    made.run(3)
    for pod in made.pods("nvidia-driver"):
        made.cluster.remove(identity(pod))
    made.run(3)
    put_license(made, "8", "new")
    made.run(4)
    status = made.cluster.find(object_identity(KIND.name, "", "p"))["status"]
    message = next(item for item in status["conditions"] if item["type"] == "Reconciling")
    assert "the license in Secret lic has changed, and these pods" in message["message"]
    assert "(node a); delete them to load it" in message["message"]


def test_passes_begun_by_reference(stage):
    """Its labels and annotations, without ours."""
    made = stage(["a", "b"])
    for name, state in {"a": states.VALIDATION, "b": states.JOBS}.items():
        node = copy.deepcopy(made.node(name))
        node["metadata"]["labels"][labels.STATE] = state
        node["metadata"]["annotations"][labels.VALIDATION_SINCE] = "1"
        node["spec"]["unschedulable"] = True
        made.cluster.put(node)
    made.run(30)
    assert made.states() == {"a": states.DONE, "b": states.DONE}
    for name in "ab":
        assert labels.VALIDATION_SINCE not in made.node(name)["metadata"]["annotations"]
        assert "unschedulable" not in made.node(name)["spec"]


DEPLOY, SINCE = "nvidia.com/gpu.deploy.", "nimops.nim/gpu-missing-since"


@pytest.fixture
def timed(stage, gpu, monkeypatch):
    """A settled cluster with a clock, a user's label and a pod with a GPU."""
    made = stage(["a"], [gpu.pod("w", "a", gpus=1)])
    made.blocks |= {key: {} for key in BESIDE}
    made.put_policy("1")
    made.clock = 1_790_000_000
    answer = made.cluster.answer

    def with_time(read):
        if isinstance(read, ReadTime):
            return datetime.fromtimestamp(made.clock, UTC).isoformat()
        return answer(read)

    monkeypatch.setattr(made.cluster, "answer", with_time)
    change(made, {f"{DEPLOY}device-plugin": "false"})
    made.run(9)
    return made


def change(made, changed):
    node = copy.deepcopy(made.node("a"))
    found = {**node["metadata"]["labels"], **changed}
    node["metadata"]["labels"] = {key: value for key, value in found.items() if value is not None}
    made.cluster.put(node)


def deploy_labels(made):
    found = made.node("a")["metadata"]["labels"]
    return {key: value for key, value in found.items() if key.startswith(DEPLOY)}


@pytest.mark.parametrize(
    ("gone", "error"), [(list(NFD)[:1], ""), (NFD, "unable to retrieve OS name")]
)
def test_passes_nfd_restart(timed, gone, error):
    before, pods = copy.deepcopy(timed.node("a")["metadata"]), timed.pods("nvidia-")
    change(timed, dict.fromkeys(gone))
    done = timed.take_pass(error)
    assert [list(item["metadata"]["annotations"]) for item in done.plan.patch] == [[SINCE]]
    for _number in range(3):
        timed.clock += 5
        done = timed.take_pass(error)
        assert (done.plan.patch, done.plan.prune, done.plan.evict) == ([], [], [])
    assert timed.pods("nvidia-") == pods
    change(timed, NFD)
    timed.run(2)
    after = timed.node("a")["metadata"]
    assert (after["labels"], after["annotations"]) == (before["labels"], before["annotations"])


def test_passes_gpu_removed(timed):
    change(timed, dict.fromkeys(list(NFD)[:1]))
    for _number in range(4):
        timed.take_pass()
        timed.clock += 300
    assert len(deploy_labels(timed)) > 8, "a pod uses the GPU"
    timed.cluster.remove(object_identity("Pod", "nim", "w"))
    timed.run(4)
    assert deploy_labels(timed) == {f"{DEPLOY}device-plugin": "false"}
    assert timed.node("a")["metadata"]["labels"]["nvidia.com/gpu.present"] == "false"
    assert SINCE not in timed.node("a")["metadata"]["annotations"]
    assert timed.pods("nvidia-") == []


def test_passes_operands_off_and_on(timed):
    before = deploy_labels(timed)
    change(timed, {f"{DEPLOY}operands": "false"})
    timed.run(3)
    left = {f"{DEPLOY}operands": "false", f"{DEPLOY}device-plugin": "false"}
    assert deploy_labels(timed) == left
    change(timed, {f"{DEPLOY}operands": None})
    timed.run(3)
    assert deploy_labels(timed) == before


def test_passes_deleted_policy(stage):
    """G04: in the middle of an upgrade."""
    made = stage(["a", "b"])
    made.run(4)
    assert made.node("a")["spec"]["unschedulable"]
    policy = copy.deepcopy(made.cluster.find(object_identity(KIND.name, "", "p")))
    policy["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    made.cluster.put(policy)
    made.take_pass()
    for name in "ab":
        node = made.node(name)
        found = {*node["metadata"]["labels"], *node["metadata"]["annotations"]}
        assert {key for key in found if "nvidia.com" in key or "nimops" in key} == set()
        assert "unschedulable" not in node["spec"]
