# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.digests import ASSUMED
from ansible_collections.nimops.nim.plugins.module_utils._engine.node_rows import row_of_node
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import (
    ReadAny,
    ReadDigest,
    ReadLog,
    ReadNodeRows,
    ReadNodes,
    ReadObject,
    ReadObjects,
    ReadPods,
    ReadPresence,
    ReadProtocol,
    ReadRedacted,
    ReadSecretPlaceholders,
    ReadServed,
    ReadTime,
    ReadUnready,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.secret_placeholders import OTHER

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    "status": {"allocatable": {}},
}


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "namespace": "nim"},
    "spec": {"nodeName": "n"},
}


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "namespace": "nim"},
    "data": {"uri": "czNjcjN0"},
}


LABELLED = ReadAny("Node", next(iter(NODE["metadata"]["labels"])))


ANSWERS = {
    "an object": (ReadObject("Pod", "nim", "a"), POD),
    "no object": (ReadObject("Pod", "nim", "b"), None),
    "in another namespace": (ReadObject("Pod", "other", "a"), None),
    "a presence": (ReadPresence("Pod", "nim", "a"), {"metadata": POD["metadata"]}),
    "a node with a label": (LABELLED, [{"metadata": NODE["metadata"]}]),
    "no node with a label": (ReadAny("Node", "none"), []),
    "a sealed Secret": (
        ReadSecretPlaceholders("Secret", "nim", "s", (("uri", "<>"),)),
        SECRET | {"data": {"uri": OTHER}},
    ),
    "no sealed Secret": (ReadSecretPlaceholders("Secret", "nim", "t", ()), None),
    "a digest": (
        ReadDigest("Secret", "nim", "s", ("uri", "b"), "", ""),
        {"version": "", "missing": ["b"], "digest": ""},
    ),
    "a digest of an unknown Secret": (ReadDigest("Secret", "nim", "t", ("b",), "", ""), ASSUMED),
    "nodes": (ReadNodes(), [{"metadata": NODE["metadata"]}]),
    "rows of nodes": (ReadNodeRows(), [row_of_node(NODE)]),
    "objects": (ReadObjects("Pod", "nim"), [POD]),
    "pods": (ReadPods("nim", "app=llm"), []),
    "a pod's state": (ReadPods("nim", ""), [{"metadata": POD["metadata"], "status": {}}]),
    "unready pods": (ReadUnready("nim", "app=llm"), []),
    "a pod that is not ready": (
        ReadUnready("nim", ""),
        [{"metadata": POD["metadata"], "spec": {"nodeName": "n"}, "status": {}}],
    ),
    "a log": (ReadLog("log", "nim", "a", "c"), ""),
    "an image": (ReadProtocol("p", "registry.example/native:1"), "native"),
    "another image": (ReadProtocol("p", "registry.example/llm:1"), "legacy"),
}


@pytest.mark.parametrize(("read", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_facts_answer_like_cluster(read, answer):
    facts = Facts([POD, NODE, SECRET], ["registry.example/native:1"])
    assert facts.ask(read) == answer
    assert SimulatedCluster(facts.ask).answer(read) == answer


def test_facts_list_unready():
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert Facts([POD | {"status": ready}]).ask(ReadUnready("nim", "")) == []


def test_facts_objects_in_stored_form() -> None:
    given = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s"},
        "data": {"a": "MQ==", "b": "MQ=="},
        "stringData": {"b": "2", "c": "ä"},
    }
    facts = Facts([given, {**NODE}], namespace="nim")
    assert facts.ask(ReadObject("Secret", "nim", "s")) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "nim"},
        "data": {"a": "MQ==", "b": "Mg==", "c": "w6Q="},
    }
    assert facts.ask(ReadNodes()) == [{"metadata": NODE["metadata"]}]


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_facts_secret_with_invalid_data(field: str) -> None:
    given = {"kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}, field: ["a"]}
    with pytest.raises(NimError, match=f'Secret "s": {field} must be a map'):
        Facts([given])


def test_facts_redacted(gpu):
    here, there = ({"kind": "Pod", **gpu.replica(name, node)} for name, node in ("ax", "by"))
    facts = Facts([here, there])
    (found,) = facts.ask(ReadRedacted("Pod", field="spec.nodeName=x"))
    assert found == {key: here[key] for key in ("metadata", "spec", "status")}
    assert len(facts.ask(ReadRedacted("Pod", selector="app=llm"))) == 2
    assert facts.ask(ReadRedacted("Pod", selector="app=other")) == []
    assert facts.ask(ReadTime()) == ""


OPENSHIFT_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "o", "labels": {"node.openshift.io/os_id": "rhcos"}},
}
SCC_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "securitycontextconstraints.security.openshift.io"},
    "spec": {"group": "security.openshift.io"},
}


@pytest.mark.parametrize(
    ("objects", "group", "is_served"),
    [
        pytest.param([], "security.openshift.io", True, id="nothing is known"),
        pytest.param([NODE], "security.openshift.io", False, id="nodes of another distribution"),
        pytest.param(
            [NODE, OPENSHIFT_NODE], "security.openshift.io", True, id="a node of OpenShift"
        ),
        pytest.param([NODE, SCC_DEFINITION], "security.openshift.io", True, id="its CRD"),
        pytest.param([NODE, SCC_DEFINITION], "route.openshift.io", False, id="another CRD"),
        pytest.param([NODE], "gateway.networking.k8s.io", True, id="another group"),
    ],
)
def test_facts_served_groups(objects, group, is_served):
    assert Facts(objects).ask(ReadServed(group)) is is_served
