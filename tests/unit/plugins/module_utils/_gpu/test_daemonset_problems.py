# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu import daemonset_problems
from ansible_collections.nimops.nim.plugins.module_utils._gpu.daemonset_problems import (
    explain,
    problem_reads,
    unready_pods,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import Nodes
from nimops_harness.crds import read_schemas


def daemon_set():
    status = {
        "observedGeneration": 1,
        "desiredNumberScheduled": 2,
        "updatedNumberScheduled": 2,
        "numberAvailable": 0,
    }
    return {"metadata": {"name": "nvidia-dcgm", "generation": 1}, "status": status}


def pod(name, node, waiting, **container):
    state = {"name": "c", "state": {"waiting": waiting}, **container}
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node} if node else {},
        "status": {"containerStatuses": [state]},
    }


def unscheduled(name, message):
    report = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {
        "metadata": {"name": name},
        "spec": {},
        "status": {"conditions": [{**report, "message": message}]},
    }


def test_explain_each_reason_once(make_app):
    broken = {"reason": "CreateContainerError", "message": "no such runtime"}
    pods = [
        pod("a", "gpu-0", broken),
        pod("b", "gpu-1", broken),
        pod("c", "gpu-2", {"reason": "ContainerCreating"}),
        pod("d", "", {"reason": "ErrImagePull", "message": "not found"}),
    ]
    app = make_app({unready_pods(make_app(), "nvidia-dcgm").key: pods})
    assert explain(app, daemon_set()) == (
        "DaemonSet nvidia-dcgm: 0 of 2 pods are available;"
        " Pod a on node gpu-0, container c: CreateContainerError: no such runtime;"
        " Pod d, container c: ErrImagePull: not found"
    )


@pytest.mark.parametrize("back_off", [False, True])
def test_explain_image(make_app, back_off):
    """G20: the name of the image of this kernel."""
    image = "r.example/driver:580-6.8.0-118-generic-ubuntu24.04"
    waiting = {"reason": "ErrImagePull", "message": "not found"}
    if back_off:
        text = f'Back-off pulling image "{image}": ErrImagePull: not found'
        waiting = {"reason": "ImagePullBackOff", "message": text}
    name = "nvidia-driver-daemonset-6.8.0-118-generic-ubuntu24.04"
    pods = [pod("a", "gpu-1", waiting, image=image)]
    app = make_app({unready_pods(make_app(), name).key: pods})
    live = daemon_set()
    live["metadata"]["name"] = name
    assert explain(app, live) == (
        f"DaemonSet {name}: 0 of 2 pods are available; Pod a on node gpu-1 waits for image {image}"
        " to be pulled: container c: ErrImagePull: not found; there is no driver image for this"
        " operating system or kernel: choose another driver.version, set driver.usePrecompiled:"
        " false, or install the driver on the node and set driver.enabled: false"
    )


PRESENT = (
    "0/5 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 4 node(s) didn't"
    " satisfy plugin(s) [NodeAffinity]. preemption: 0/5 nodes are available: 1 No preemption victims"
    " found for incoming pod, 4 Preemption is not helpful for scheduling."
)
FULL = (
    "0/5 nodes are available: 1 Insufficient memory, 4 node(s) didn't match Pod's node"
    " affinity/selector. preemption: 0/5 nodes are available: 5 Preemption is not helpful."
)


@pytest.mark.parametrize(
    ("name", "message", "expected"),
    [
        ("nvidia-driver-daemonset", PRESENT, ""),
        ("nvidia-dcgm", FULL, "; Pod a: Unschedulable: Insufficient memory"),
    ],
)
def test_explain_unscheduled(make_app, name, message, expected):
    """N5: a driver pod that waits for the present one is not a problem."""
    app = make_app({unready_pods(make_app(), name).key: [unscheduled("a", message)]})
    live = daemon_set()
    live["metadata"]["name"] = name
    assert explain(app, live) == f"DaemonSet {name}: 0 of 2 pods are available{expected}"


def test_explain_without_pods(make_app):
    assert explain(make_app(), daemon_set()) == "DaemonSet nvidia-dcgm: 0 of 2 pods are available"


POD_SECURITY = (
    'Error creating: pods "nvidia-dcgm-x" is forbidden: violates PodSecurity "baseline:latest":'
    " hostPath volumes"
)
PRIORITY = (
    "Error creating: insufficient quota to match these scopes: [{PriorityClass In"
    " [system-node-critical system-cluster-critical]}]"
)
PODS = (
    'Error creating: pods "nvidia-dcgm-x" is forbidden: exceeded quota: few, requested: pods=1,'
    " used: pods=3, limited: pods=3"
)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        pytest.param(
            POD_SECURITY,
            " (set spec.psa.enabled, or relax the Pod Security labels of the namespace)",
            id="pod security",
        ),
        pytest.param(
            PRIORITY,
            " (create a ResourceQuota for this PriorityClass in the namespace, or set another in"
            " spec.daemonsets.priorityClassName)",
            id="priority",
        ),
        pytest.param(PODS, " (ask for a larger quota)", id="quota"),
        pytest.param("Error creating: webhook refused it", "", id="webhook"),
    ],
)
def test_explain_refused(make_app, message, advice):
    live = daemon_set()
    live["status"]["currentNumberScheduled"] = 1
    pods, refusals = problem_reads(make_app(), [live], [], Nodes([]))
    assert (pods.key, refusals.kind) == (unready_pods(make_app(), "nvidia-dcgm").key, "DaemonSet")
    answers = {refusals.key: message}
    summary = "DaemonSet nvidia-dcgm: 0 of 2 pods are available"
    assert explain(make_app(answers), live) == f"{summary}; FailedCreate: {message}{advice}"
    live["status"]["currentNumberScheduled"] = 2
    assert len(problem_reads(make_app(), [live], [], Nodes([]))) == 1, "no event is read"
    assert explain(make_app(answers), live) == summary, "an event from before"


def test_fields_exist():
    schemas = read_schemas()
    for kind, fields in daemonset_problems._FIELDS.items():
        for text in fields:
            field, _of, other = text.partition(" of the ")
            schema = schemas[other or kind]
            for name in field.split("."):
                schema = schema["properties"][name]


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (POD_SECURITY, "spec.psa.enabled of the ClusterPolicy"),
        (PRIORITY, "spec.priorityClassName"),
    ],
)
def test_explain_refused_driver(make_app, message, field):
    live = daemon_set()
    live["status"]["currentNumberScheduled"] = 1
    _pods, refusals = problem_reads(make_app(), [live], [], Nodes([]))
    text = explain(make_app({refusals.key: message}, kind="NVIDIADriver"), live)
    assert f" {field}" in text
    assert "spec.daemonsets" not in text
