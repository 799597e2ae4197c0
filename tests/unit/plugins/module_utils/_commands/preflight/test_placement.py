# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Pods on nodes."""

from __future__ import annotations

from decimal import Decimal

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.devices import Devices
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.placement import (
    Capacity,
    PodToPlace,
    selects_node,
    summarize,
)

GPU = "nvidia.com/gpu"
TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def node(name="a", gpus=2, labels=None, **spec):
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "3", GPU: str(gpus)}
    metadata = {"name": name, "labels": {"zone": name, **(labels or {})}}
    return {"metadata": metadata, "spec": spec, "status": {"allocatable": amounts}}


def live(gpus=1, where="a", phase="Running", name="other", **spec):
    container = {"name": "c", "resources": {"requests": {GPU: str(gpus)}}}
    return {
        "metadata": {"name": name, "namespace": "x", "labels": {"app": name}},
        "spec": {"nodeName": where, "containers": [container], **spec},
        "status": {"phase": phase},
    }


def pod(gpus=1, **spec):
    container = {"name": "c", "resources": {"limits": {GPU: str(gpus)}}}
    return PodToPlace("llm", "nim", {"app": "llm"}, {"containers": [container], **spec})


def required(kind, *terms):
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    given = {"nodeSelectorTerms": list(terms)} if kind == "nodeAffinity" else list(terms)
    return {"affinity": {kind: {field: given}}}


def expression(operator, *values, key="zone"):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def near(app, **more):
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **more}


NEW = {"namespaces": ["x"]}
CASES = {
    "fits": ([node()], [], pod(2), ""),
    "too few": ([node()], [], pod(3), "amount"),
    "in use": ([node()], [live()], pod(2), "amount"),
    "ended": ([node()], [live(phase="Failed")], pod(2), ""),
    "on another node": ([node()], [live(where="b")], pod(2), ""),
    "no place for a pod": ([node()], [live(0, name=str(it)) for it in range(3)], pod(), "amount"),
    "selector": ([node()], [], pod(nodeSelector={"zone": "b"}), "selector"),
    "cordoned": ([node(unschedulable=True)], [], pod(), "taint"),
    "taint": ([node(taints=[TAINT])], [], pod(), "taint"),
    "preferred taint": ([node(taints=[{**TAINT, "effect": "PreferNoSchedule"}])], [], pod(), ""),
    "tolerated": (
        [node(taints=[TAINT])],
        [],
        pod(tolerations=[{"key": "gpu", "value": "yes"}]),
        "",
    ),
    "affinity": ([node()], [], pod(**required("nodeAffinity", expression("In", "b"))), "selector"),
    "second term": (
        [node()],
        [],
        pod(**required("nodeAffinity", expression("In", "b"), expression("NotIn", "b"))),
        "",
    ),
    "apart": ([node()], [live()], pod(**required("podAntiAffinity", near("other", **NEW))), "pods"),
    "apart from others": ([node()], [live()], pod(**required("podAntiAffinity", near("z"))), ""),
    "refused by a pod": (
        [node()],
        [live(**required("podAntiAffinity", near("llm", namespaces=["nim"])))],
        pod(),
        "pods",
    ),
    "together": ([node()], [live()], pod(**required("podAffinity", near("other", **NEW))), ""),
    "together with none": ([node()], [], pod(**required("podAffinity", near("other"))), "pods"),
    "together with itself": ([node()], [], pod(**required("podAffinity", near("llm"))), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_capacity_reasons(case):
    nodes, pods, wanted, kind = CASES[case]
    capacity = Capacity.of(nodes, pods, Devices())
    assert [reason.kind for reason in capacity.reasons(wanted)] == ([kind] if kind else [])
    assert capacity.copy().place(wanted, is_tight=False) is (kind == "")


def test_capacity_anti_affinity_of_a_zone():
    """Also of pods that are placed in the course of the check."""
    pods = [live(**required("podAntiAffinity", near("llm", namespaces=["nim"])))]
    nodes = [node(), node("b", labels={"zone": "a"}), node("c")]
    capacity = Capacity.of(nodes, pods, Devices())
    apart = pod(**required("podAntiAffinity", near("llm")))
    assert [capacity.place(apart, is_tight=True) for _number in range(2)] == [True, False]
    assert capacity.nodes["c"].groups["llm"] == 1


def test_capacity_volume_of_another_zone():
    where = {"nodeSelectorTerms": [expression("In", "b")]}
    found = PodToPlace("llm", "nim", {}, pod().spec, volumes=(where,))
    (reason,) = Capacity.of([node()], [], Devices()).reasons(found)
    assert reason.text == "without access to a volume of the pod"


def test_capacity_without_pods_of_lower_priority():
    pods = [live(2, priority=5)]
    assert Capacity.of([node()], pods, Devices(), least=6).nodes["a"].free(GPU) == Decimal(2)
    assert Capacity.of([node()], pods, Devices(), least=5).nodes["a"].free(GPU) == Decimal(0)


@pytest.mark.parametrize(("is_tight", "wanted"), [(True, [2, 0]), (False, [1, 1])])
def test_capacity_place(is_tight, wanted):
    capacity = Capacity.of([node(), node("b")], [], Devices())
    for _number in range(2):
        assert capacity.place(pod(), is_tight=is_tight)
    used = [int(it.allocatable[GPU] - it.free(GPU)) for it in capacity.nodes.values()]
    assert used == wanted


@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        (expression("Exists"), True),
        (expression("DoesNotExist"), False),
        (expression("Gt", "3", key="size"), True),
        (expression("Lt", "3", key="size"), False),
        (expression("Gt", "three", key="size"), False),
        (expression("Unknown"), False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}, True),
        ({}, False),
    ],
)
def test_selects_node(term, wanted):
    labels = {"zone": "a", "size": "4"}
    assert selects_node({"nodeSelectorTerms": [term]}, "a", labels) is wanted


def test_summarize_counts_equal_reasons():
    nodes = [node(), node("b"), node("c", taints=[TAINT])]
    capacity = Capacity.of(nodes, [], Devices())
    assert summarize(capacity.reasons(pod(3)), 3) == (
        "0 of 3 nodes fit: 2 with 2 of 2 nvidia.com/gpu free,"
        " 1 with the taint gpu=yes:NoSchedule, which is not tolerated"
    )
    assert summarize([], 0) == "there are no nodes"
