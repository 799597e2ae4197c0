# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.components import COMPONENTS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.diagnosis import diagnose

BY_NAME = {item.name: item for item in COMPONENTS}
T0, T1 = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
RUNNING = {"running": {"startedAt": T1}}
DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED = {"terminated": {"exitCode": 1, "reason": "Error"}}


def pod_of(init=(), main=(), **metadata):
    def containers(items):
        return [
            {
                "name": name,
                "ready": False,
                "image": "r/i:1",
                "restartCount": 0,
                "state": state,
                **more,
            }
            for name, state, more in items
        ]

    return {
        "metadata": {"name": "p", "namespace": "gpu", **metadata},
        "status": {
            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": T0}],
            "initContainerStatuses": containers(init),
            "containerStatuses": containers(main),
        },
    }


WAITING = {"waiting": {"reason": "PodInitializing"}}


def waiting(reason, message=""):
    return {"waiting": {"reason": reason, "message": message}}


DRIVER, PLUGIN = "nvidia-driver-ctr", "nvidia-device-plugin"
CRASHES, PENDING = waiting("CrashLoopBackOff"), pod_of([], [("c", WAITING, {})])
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
UNSCHEDULABLE |= {"message": "m"}
SECOND = {"message": "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules."}


@pytest.mark.parametrize(
    ("component", "pod", "expected"),
    [
        pytest.param(
            "driver",
            pod_of([("k8s-driver-manager", RUNNING, {})], [(DRIVER, WAITING, {})]),
            {"waits": "the driver manager to stop", "container": "k8s-driver-manager", "since": T1},
            id="driver manager",
        ),
        pytest.param(
            "driver",
            pod_of([("k8s-driver-manager", DONE, {"ready": True})], [(DRIVER, RUNNING, {})]),
            {"waits": "the driver to be built", "container": DRIVER, "needs": ""},
            id="driver is built",
        ),
        pytest.param(
            "driver",
            pod_of([], [(DRIVER, waiting("ErrImagePull", "r/driver:1-sles15: not found"), {})]),
            {
                "waits": "image r/i:1 to be pulled",
                "container": "",
                "is_fault": True,
                "advice": "there is no driver image for this operating system or kernel",
            },
            id="no driver for this system",
        ),
        pytest.param(
            "device-plugin",
            pod_of([], [(PLUGIN, waiting("ImagePullBackOff", "denied"), {})]),
            {"is_fault": True, "advice": "the registry refuses the pull"},
            id="no permission to pull",
        ),
        pytest.param(
            "driver",
            pod_of([], [(DRIVER, CRASHES, {"restartCount": 3, "lastState": FAILED})]),
            {
                "waits": "container nvidia-driver-ctr: ended 4 times, last with Error, exit code 1",
                "container": DRIVER,
                "is_fault": True,
                "has_ended": True,
            },
            id="driver crashes",
        ),
        pytest.param(
            "container-toolkit",
            pod_of([("driver-validation", RUNNING, {})], [("ctr", WAITING, {})]),
            {"waits": "a loaded driver", "needs": "driver", "is_fault": False},
            id="waits for the driver",
        ),
        pytest.param(
            "operator-validator",
            pod_of(
                [
                    ("driver-validation", DONE, {"ready": True}),
                    ("toolkit-validation", RUNNING, {"lastState": FAILED, "restartCount": 2}),
                ]
            ),
            {
                "waits": "container toolkit-validation: ended 2 times, last with Error",
                "needs": "container-toolkit",
                "is_fault": True,
                "has_ended": False,
            },
            id="toolkit is not ready",
        ),
        pytest.param(
            "operator-validator",
            pod_of([("cuda-validation", RUNNING, {})]),
            {"waits": "a CUDA program to run on a GPU", "container": "cuda-validation"},
            id="cuda",
        ),
        pytest.param(
            "device-plugin",
            pod_of([], [(PLUGIN, RUNNING, {})]),
            {"waits": "the device plugin to register its GPUs"},
            id="plugin",
        ),
        pytest.param("dcgm", PENDING, {"waits": "its containers to start"}, id="starts"),
        pytest.param(
            "dcgm",
            pod_of([], [("c", WAITING, {})], deletionTimestamp=T1),
            {"waits": "its pod to terminate", "since": T1},
            id="ends",
        ),
        pytest.param(
            "dcgm",
            {"metadata": {"name": "p"}, "status": {"conditions": [UNSCHEDULABLE]}},
            {"waits": "Unschedulable: m", "is_fault": True},
            id="not scheduled",
        ),
        pytest.param(
            "driver",
            {"metadata": {"name": "p"}, "status": {"conditions": [UNSCHEDULABLE | SECOND]}},
            {"waits": "the present driver pod of the node to end", "is_fault": False},
            id="second driver pod of a node",
        ),
    ],
)
def test_diagnose(component, pod, expected):
    found = diagnose(BY_NAME[component], pod)
    for key, value in expected.items():
        seen = getattr(found, key)
        is_alike = seen.startswith(value) if value and isinstance(value, str) else seen == value
        assert is_alike, (key, seen)


def test_diagnose_ready(gpu):
    assert diagnose(BY_NAME["driver"], gpu.driver("n")) is None


def test_diagnose_from_event():
    pod = pod_of([], [("c", waiting("ContainerCreating"), {})])
    events = 'FailedCreatePodSandBox: no runtime for\n"nvidia" is configured'
    found = diagnose(BY_NAME["device-plugin"], pod, [events])
    assert found.waits == (
        'its containers to be created: FailedCreatePodSandBox: no runtime for "nvidia" is configured'
    )
    assert "RuntimeClass" in found.advice
    assert (found.is_fault, found.container, found.needs) == (True, "", "container-toolkit")


def test_diagnose_probe_output():
    pod = pod_of([], [(DRIVER, RUNNING, {})])
    events = [
        "Unhealthy: Startup probe failed: the kernel module gdrdrv is not loaded",
        "FailedCreatePodSandBox: no devices were found",
        "Unhealthy: Startup probe failed: it couldn't communicate with the NVIDIA driver",
    ]
    found = diagnose(BY_NAME["driver"], pod, events)
    assert found.advice == "the driver is not loaded: check dmesg on the node"
    assert (found.is_fault, found.container) == (False, "nvidia-driver-ctr")
    assert diagnose(BY_NAME["driver"], pod, events[:2]).advice == "", "the last message is missing"
