# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    Read,
    read_nodes,
    read_object,
    read_objects,
    read_pods,
    read_presence,
)

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    "status": {"allocatable": {}},
}


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
    "pods": (read_pods("nim", "app=llm"), []),
    "a pod's state": (read_pods("nim", ""), [{"metadata": POD["metadata"], "status": {}}]),
    "a log": (Read("log", "log", "Pod", "nim", "a"), ""),
    "an image": (Read("p", "protocol", image="registry.example/native:1"), "native"),
    "another image": (Read("p", "protocol", image="registry.example/llm:1"), "legacy"),
}


@pytest.mark.parametrize(("read", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_facts_answer_as_a_cluster_does(read, answer):
    facts = Facts([POD, NODE], ["registry.example/native:1"])
    assert facts.ask(read) == answer
    assert SimulatedCluster(facts.ask).answer(read) == answer
