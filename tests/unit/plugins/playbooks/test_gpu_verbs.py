# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""gpu_status and gpu_upgrade_plan, called like by users."""

from __future__ import annotations

import importlib
import json

import pytest
import yaml

POLICIES = "/apis/nvidia.com/v1/clusterpolicies"
STATE = "nvidia.com/gpu-driver-upgrade-state"


def policy_of(**upgrade):
    return {
        "metadata": {"name": "cluster-policy", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"driver": {"upgradePolicy": upgrade}},
        "status": {"state": "ready", "namespace": "gpu"},
    }


@pytest.fixture
def stack(cluster, gpu, answer):
    """Two nodes with drivers, and a NIMService with a replica on each."""

    def put(path, item):
        cluster.put(f"{path}/{item['metadata']['name']}", item)

    def make(revision="old", times=4, **upgrade):
        listed = {"items": [policy_of(**upgrade)] if upgrade else []}
        cluster.refuse["GET", POLICIES] = [answer(200, listed) for _ in range(times)]
        for name in "ab":
            node = gpu.node(name, "upgrade-done")
            node["metadata"]["labels"]["feature.node.kubernetes.io/x"] = "y"
            put("/api/v1/nodes", node)
            for pod in (gpu.driver(name, revision), gpu.validator(name)):
                put("/api/v1/namespaces/gpu/pods", pod)
            put("/api/v1/namespaces/nim/pods", gpu.replica(f"llm-{name}", name, gpus=8))
        for item in (gpu.revision("old", 1, "x"), gpu.revision("new", 2, "y")):
            put("/apis/apps/v1/namespaces/gpu/controllerrevisions", item)
        put("/apis/apps/v1/namespaces/nim/deployments", gpu.workload(2, gpus=8))
        for app in ("nvidia-driver-daemonset", "nvidia-operator-validator"):
            item = {"metadata": {"name": app, "namespace": "gpu", "labels": {"app": app}}}
            put("/apis/apps/v1/namespaces/gpu/daemonsets", item)

    return make


def test_upgrade_plan(call, stack, cluster):
    stack(autoUpgrade=True)
    code, out, err = call("gpu_upgrade_plan")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["1", "a"], ["2", "b"]]
    assert "nim/llm      2          2       1          2       1 of 8 GPUs each   a, b" in lines
    assert lines[-1] == "2 of 2 nodes are drained; too few GPUs are left for: nim/llm"
    assert {request.method for request in cluster.server.requests} == {"GET"}


def test_upgrade_plan_as_data(call, stack):
    stack("new", autoUpgrade=True)
    code, out, err = call("gpu_upgrade_plan", output="json", assume_outdated=True)
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert [item["node"] for item in found["nodes"]] == ["a", "b"]
    assert found["services"][0]["lowest"] == 1


def test_upgrade_plan_without_upgrade(call, stack):
    stack(autoUpgrade=False)
    code, out, err = call("gpu_upgrade_plan")
    assert (code, out) == (0, "")
    assert err == "driver.upgradePolicy.autoUpgrade is not true: drivers are not upgraded\n"
    code, out, _err = call("gpu_upgrade_plan", assume_outdated=True)
    assert (code, out.splitlines()[-1][:26]) == (0, "2 of 2 nodes are drained; ")


def test_upgrade_plan_fail_on_problems(call, stack, cluster, gpu):
    stack(autoUpgrade=True)
    budget = gpu.budget(wanted=2, maxUnavailable=0)
    cluster.put("/apis/policy/v1/namespaces/nim/poddisruptionbudgets/b", budget)
    code, out, _err = call("gpu_upgrade_plan")
    assert code == 0
    assert "! a: waits for Pod nim/llm-a could not be evicted: PodDisruptionBudget nim/b" in out
    code, _out, err = call("gpu_upgrade_plan", fail_on_problems=True)
    assert code == 2
    assert "2 are not upgraded" in err


def test_upgrade_plan_without_policy(call, stack):
    stack()
    code, out, err = call("gpu_upgrade_plan")
    assert (code, out) == (2, "")
    assert "there is no ClusterPolicy" in err
    code, out, err = call("gpu_status")
    assert code == 0
    assert out.startswith("! there is no ClusterPolicy: nothing is deployed\n")


def test_gpu_status(call, stack, cluster, gpu):
    stack("new", autoUpgrade=True)
    pod = gpu.driver("b", "new", ready=False)
    pod["status"]["containerStatuses"] = [
        {
            "name": "nvidia-driver-ctr",
            "ready": False,
            "restartCount": 2,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"reason": "Error", "exitCode": 1}},
        }
    ]
    path = "/api/v1/namespaces/gpu/pods/driver-b"
    cluster.put(path, pod)
    cluster.texts[f"{path}/log"] = "Module nouveau is in use s3cret"
    code, out, err = call("gpu_status")
    assert (code, err) == (0, "")
    assert "b      Failed   driver      container nvidia-driver-ctr: ended 3 times" in out
    assert "# b, driver: the kernel module nouveau holds the GPU" in out
    assert "s3cret" not in out
    assert out.splitlines()[-1] == "1 of 2 GPU nodes are ready"
    code, out, _err = call("gpu_status", output="json", max_logs=0)
    assert json.loads(out)["nodes"][0]["troubles"][0]["advice"] == ""


def examples(module):
    name = f"ansible_collections.nimops.nim.plugins.modules.{module}"
    return yaml.safe_load(importlib.import_module(name).EXAMPLES)


@pytest.mark.parametrize(("module", "code"), [("gpu_status_info", 0), ("gpu_upgrade_plan_info", 0)])
def test_gpu_verbs_examples(call, stack, tmp_path, module, code):
    stack("new", autoUpgrade=True)
    play = {"hosts": "localhost", "gather_facts": False, "tasks": examples(module)}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    found, out, err = call("play.yml", callback="ansible.builtin.default")
    assert found == code, out + err
