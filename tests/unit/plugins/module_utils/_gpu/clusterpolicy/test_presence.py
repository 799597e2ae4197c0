# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadTime
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.node_labels import (
    Presence,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.presence import (
    find_presence,
    presence_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.status import assess
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.reads import (
    CLAIMS,
    read_pods_on,
)

NOW = 1_790_000_000
PCI, PRESENT = "feature.node.kubernetes.io/pci-10de.present", "nvidia.com/gpu.present"
SINCE, DEPLOY = "nimops.nim/gpu-missing-since", "nvidia.com/gpu.deploy."
TIME = {ReadTime().key: datetime.fromtimestamp(NOW, UTC).isoformat()}
KEPT = Presence(has_gpu=True, missing_since=NOW - 300, is_kept=True)
GONE = Presence(has_gpu=False)


def make_lost(gpu, since=300, name="gpu-0", **labels):
    annotations = {} if since is None else {SINCE: str(NOW - since)}
    return gpu.node(name, {PCI: None, PRESENT: "true", **labels}, annotations=annotations)


def pods_on(*pods, name="gpu-0"):
    return {read_pods_on(name).key: list(pods)}


def see(gpu, node, answers=None):
    app = gpu.app(nodes=[node], answers=answers)
    return find_presence(app.observed, node)


def test_find_presence_label(gpu, gpu_objects):
    labels = {PCI: None, "feature.node.kubernetes.io/pci-0302_10de_2330.present": "true"}
    assert see(gpu, gpu.node()) == see(gpu, gpu.node(labels=labels)) == Presence(has_gpu=True)
    assert see(gpu, gpu.node(labels={PCI: None})) == GONE, "it never had a GPU"
    assert see(gpu, gpu.node(labels={PCI: None, PRESENT: "false"})) == GONE


@pytest.mark.parametrize(
    ("since", "found"),
    [(None, NOW), (0, NOW), (299, NOW - 299), (-60, NOW)],
    ids=["first pass", "at once", "soon over", "clock ahead"],
)
def test_find_presence_recent(gpu, since, found):
    kept = Presence(has_gpu=True, missing_since=found, is_kept=True)
    assert see(gpu, make_lost(gpu, since), TIME | pods_on()) == kept


def test_find_presence_over(gpu, gpu_objects):
    pod = gpu_objects.pod
    ended = pod("e", "gpu-0", gpus=1) | {"status": {"phase": "Succeeded"}}
    cases = {
        "no pods": (pods_on(), GONE),
        "a pod without GPU": (pods_on(pod("a", "gpu-0")), GONE),
        "an ended pod": (pods_on(ended), GONE),
        "a pod with a GPU": (pods_on(pod("a", "gpu-0", gpus=1)), KEPT),
        "not read": ({}, KEPT),
    }
    for name, (answers, expected) in cases.items():
        assert see(gpu, make_lost(gpu), TIME | answers) == expected, name
    assert see(gpu, make_lost(gpu, None), pods_on()) == GONE, "time stands still in a simulation"


def test_find_presence_claims(gpu, gpu_objects):
    pod = gpu_objects.pod("a", "gpu-0")
    pod["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": "gpu"}]
    namespace = pod["metadata"]["namespace"]

    def claim(driver):
        status = {"allocation": {"devices": {"results": [{"driver": driver}]}}}
        return {"metadata": {"name": "gpu", "namespace": namespace}, "status": status}

    for driver, expected in (("gpu.nvidia.com", KEPT), ("other.example", GONE)):
        answers = TIME | pods_on(pod) | {CLAIMS.key: [claim(driver)]}
        assert see(gpu, make_lost(gpu), answers) == expected


def test_presence_reads(gpu, gpu_objects):
    def keys(nodes, **answers):
        app = gpu.app(nodes=nodes, answers=answers)
        return [read.key for read in presence_reads(app.observed)]

    marked = gpu.node(labels={PRESENT: "true"})
    assert keys([marked, gpu.node("cpu", {PCI: None})]) == []
    assert keys([marked, make_lost(gpu)]) == [ReadTime().key]
    assert keys([make_lost(gpu, 299)], **TIME) == [ReadTime().key]
    pods = read_pods_on("gpu-0").key
    assert keys([make_lost(gpu)], **TIME) == [ReadTime().key, pods]
    pod = gpu_objects.pod("a", "gpu-0")
    pod["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": "gpu"}]
    found = keys([make_lost(gpu)], **TIME, **pods_on(pod))
    assert found == [ReadTime().key, pods, CLAIMS.key]
    off = {f"{DEPLOY}operands": "false", f"{DEPLOY}dcgm": "true"}
    assert keys([gpu.node(labels=off)]) == [pods]


def test_presence_reads_many_nodes(gpu):
    """A pass reads few of them; over time, all get their turn."""
    nodes = [make_lost(gpu, 400, f"n{number}") for number in range(50)]
    seen = set()
    for turn in range(6):
        time = datetime.fromtimestamp(NOW + 15 * turn, UTC).isoformat()
        app = gpu.app(nodes=nodes, answers={ReadTime().key: time})
        found = {read.key for read in presence_reads(app.observed)}
        assert len(found) == 21
        seen |= found
    assert len(seen) == 51


def assessed(gpu, nodes, **answers):
    found = assess(gpu.app(nodes=nodes, answers=answers), Outcome())
    condition = find_condition(found.status["conditions"], "Reconciling") or {}
    return found, condition.get("message", "")


def test_report_presence(gpu, gpu_objects):
    found, message = assessed(gpu, [make_lost(gpu, None)], **TIME)
    assert message == (
        "node gpu-0: the label of Node Feature Discovery for a GPU is missing. The GPU stack is kept"
        " for 5 minutes, and while pods use GPUs there. Check Node Feature Discovery"
    )
    assert found.status["state"] == "ready"
    events = [(event.kind, event.reason) for event in found.events]
    assert ("Warning", "GPULabelMissing") in events
    assert (found.requeue.after, found.requeue.slow) == (True, True)

    pods = pods_on(gpu_objects.pod("a", "gpu-0", gpus=1))
    found, message = assessed(gpu, [make_lost(gpu)], **TIME, **pods)
    assert "while pods use GPUs there (nim/a). Check" in message
    assert "GPULabelMissing" not in [event.reason for event in found.events]

    found, message = assessed(gpu, [make_lost(gpu)], **TIME, **pods_on())
    assert (message, found.requeue.after) == ("", False)


def test_report_presence_many_nodes(gpu):
    nodes = [make_lost(gpu, None, f"n{number}") for number in range(5)]
    found, message = assessed(gpu, nodes, **TIME)
    assert message.startswith("node n0, n1, n2 and 2 more: ")
    assert [event.reason for event in found.events].count("GPULabelMissing") == 1


def test_report_presence_turned_off(gpu, gpu_objects):
    node = gpu.node(labels={f"{DEPLOY}operands": "false", f"{DEPLOY}dcgm": "true"})
    pods = pods_on(gpu_objects.pod("a", "gpu-0", gpus=1))
    found, _message = assessed(gpu, [node], **pods)
    (event,) = [event for event in found.events if event.kind == "Warning"]
    assert (event.reason, event.message) == (
        "GPUsInUse",
        "node gpu-0: the label nvidia.com/gpu.deploy.operands=false removes the GPU stack and its"
        " driver, while pods use GPUs: nim/a",
    )
    found, _message = assessed(gpu, [node], **pods_on())
    assert [event for event in found.events if event.kind == "Warning"] == []
