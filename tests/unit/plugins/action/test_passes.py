# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Passes of the operator's own playbook: tasks, requests, connections."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

import pytest

SERVICES = "/apis/apps.nvidia.com/v1alpha1/namespaces/nim/nimservices"
RESOURCE = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim"}}
LLM = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "generation": 1},
    "spec": {
        "image": {"repository": "nvcr.io/nim/llm", "tag": "1.0"},
        "authSecret": "ngc-api",
        "storage": {"emptyDir": {}},
        "expose": {"service": {"type": "ClusterIP", "port": 8000}},
        "replicas": 1,
    },
}
DEPLOYMENT = "/apis/apps/v1/namespaces/nim/deployments/llm"
TEXT = "{{ lookup('ansible.builtin.env', 'PATH') }}{% raw %}{# #}!unsafe"
TEXT_VARIABLE = {"name": "A", "value": TEXT}
ROCKET = {"name": "A", "value": "to the moon \U0001f680"}


@dataclass
class Pass:
    """``results``: the result of each task that the runtime sees; ``writes``: paths."""

    results: list[dict]
    writes: list[str]
    connections: int
    counts: dict
    pod: dict = field(default_factory=dict)


def results_of(output):
    assert output.count("\nTASK [") == 2, "one task, and the one of operator.yml"
    shown = re.findall(r"^(?:ok|changed): \[localhost\] => (\{.*\})$", output, re.MULTILINE)
    return [json.loads(item) for item in shown]


@pytest.fixture(scope="module")
def passes(play, new_cluster, tmp_path_factory):
    """The passes of a NIMService: when it is new, unchanged, drifted, and deleted."""
    cluster = new_cluster()
    path = f"{SERVICES}/llm"

    def make_pass():
        requests, connections = len(cluster.server.requests), cluster.server.connections
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ANSIBLE_VERBOSITY", "1")
            folder = tmp_path_factory.mktemp("pass")
            counters = folder / "counters.json"
            patch.setenv("NIMOPS_COUNTERS", str(counters))
            process, _results = play("operator", cluster, folder, nimops_resource=RESOURCE)
        new = cluster.server.requests[requests:]
        return Pass(
            results_of(process.stdout),
            [item.path.rpartition("/namespaces/nim/")[2] for item in new if item.method != "GET"],
            cluster.server.connections - connections,
            json.loads(counters.read_text())["NIMService"] if counters.exists() else {},
        )

    try:
        cluster.put(path, LLM)
        found = {"new": make_pass(), "unchanged": make_pass()}
        cluster.objects["/api/v1/namespaces/nim/services/llm"]["spec"]["type"] = "NodePort"
        found["drifted"] = make_pass()
        cluster.objects[path]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        found["deleted"] = make_pass()
        marked = {"nodeSelector": {"__ansible_unsafe": TEXT, "gpu": "a"}, "env": [TEXT_VARIABLE]}
        del cluster.objects[path]["metadata"]["deletionTimestamp"]
        cluster.put(path, cluster.objects[path] | {"spec": LLM["spec"] | marked})
        found["marked"] = make_pass()
        found["marked"].pod = cluster.objects[DEPLOYMENT]["spec"]["template"]["spec"]
        cluster.put(path, cluster.objects[path] | {"spec": LLM["spec"] | {"env": [ROCKET]}})
        found["rocket"] = make_pass()
        found["rocket"].pod = cluster.objects[DEPLOYMENT]["spec"]["template"]["spec"]
        found["after"] = make_pass()
        del cluster.objects[path]
        found["gone"] = make_pass()
        yield found
    finally:
        cluster.server.close()


def test_pass_creates_children(passes):
    new = passes["new"]
    assert {"services/llm", "deployments/llm", "nimservices/llm/status"} <= set(new.writes)
    (result,) = new.results
    assert set(result) == {"changed", "written", "deleted", "period"}
    assert (result["changed"], result["period"]) == (True, "1s")
    assert "Deployment/nim/llm" in result["written"]


def test_pass_without_changes_only_reads(passes):
    unchanged = passes["unchanged"]
    assert [item["changed"] for item in unchanged.results] == [False]
    assert (unchanged.writes, unchanged.connections) == ([], 1)


def test_pass_corrects_drift(passes):
    drifted = passes["drifted"]
    assert [item["written"] for item in drifted.results] == [["Service/nim/llm"]]
    assert drifted.writes == ["services/llm"]


def test_pass_is_counted(passes):
    new, unchanged = passes["new"].counts, passes["unchanged"].counts
    assert (new["passes"], new["unready"], new["forked"]) == (1, 1, 1)
    assert new["writes"] == len(passes["new"].results[0]["written"])
    assert (unchanged["passes"], unchanged["writes"]) == (1, 0)
    assert passes["gone"].counts == {}


def test_pass_evaluates_no_text(passes):
    pod = passes["marked"].pod
    assert TEXT_VARIABLE in pod["containers"][0]["env"]
    assert pod["nodeSelector"] == {"gpu": "a"}


def test_pass_applies_special_characters(passes):
    """It would send an emoji as a pair of surrogates, which YAML has not."""
    rocket = passes["rocket"]
    assert ROCKET in rocket.pod["containers"][0]["env"]
    assert rocket.writes == ["deployments/llm"]
    assert passes["after"].writes == []


def test_pass_of_deleted_resource(passes):
    gone = passes["gone"]
    assert (gone.results[0]["period"], gone.writes) == ("0s", [])


def test_requeue_after_for_finalizer(passes):
    """It does not remove the finalizer itself after requeue_after."""
    deleted = passes["deleted"]
    assert deleted.results == [{"changed": False, "written": [], "deleted": [], "period": "1s"}]
    assert deleted.writes == []


def test_requeue_after_always_has_period(passes):
    """The runtime does not survive a result of requeue_after without one."""
    assert all(item["period"] for found in passes.values() for item in found.results)


CHILD = "/api/v1/namespaces/nim/services/llm"
TOLD = "exists and was not created by this NIMService"


@pytest.fixture(scope="module")
def contested(play, new_cluster, tmp_path_factory):
    """(cluster, requests): the first pass of a NIMService whose Service has another owner."""
    cluster = new_cluster()
    # The CRD gives a resource without a status this one.
    cluster.put(f"{SERVICES}/llm", LLM | {"status": {"observedGeneration": -1}})
    foreign = {"apiVersion": "v1", "kind": "Service"}
    cluster.put(CHILD, foreign | {"metadata": {"name": "llm", "namespace": "nim"}})
    try:
        play("operator", cluster, tmp_path_factory.mktemp("first"), nimops_resource=RESOURCE)
        yield cluster, [(item.method, item.path) for item in cluster.server.requests]
    finally:
        cluster.server.close()


def test_pass_creates_children_without_reads(contested):
    _cluster, asked = contested
    writes = [path for method, path in asked if method == "PATCH"]
    before = [path for method, path in asked[: asked.index(("PATCH", writes[0]))]]
    assert {CHILD, DEPLOYMENT} <= {*writes}
    assert not {CHILD, DEPLOYMENT} & {*before}


def test_pass_refuses_existing_foreign_child(contested):
    cluster, asked = contested
    assert "labels" not in cluster.objects[CHILD]["metadata"]
    assert ("GET", CHILD) in asked
    conditions = cluster.objects[f"{SERVICES}/llm"]["status"]["conditions"]
    assert [item for item in conditions if TOLD in item["message"]]
