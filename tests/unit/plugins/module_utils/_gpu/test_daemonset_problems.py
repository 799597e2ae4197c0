# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.daemonset_problems import (
    explain,
    unready_pods,
)


def daemon_set():
    status = {
        "observedGeneration": 1,
        "desiredNumberScheduled": 2,
        "updatedNumberScheduled": 2,
        "numberAvailable": 0,
    }
    return {"metadata": {"name": "nvidia-dcgm", "generation": 1}, "status": status}


def pod(name, node, waiting):
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node} if node else {},
        "status": {"containerStatuses": [{"name": "c", "state": {"waiting": waiting}}]},
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


def test_explain_without_pods(make_app):
    assert explain(make_app(), daemon_set()) == "DaemonSet nvidia-dcgm: 0 of 2 pods are available"
