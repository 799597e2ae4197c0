# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.services import Services


def group(gpu, key, *pods):
    """The pods of a group, of which only the leader is labeled as the service's."""
    labels = {
        "leaderworkerset.sigs.k8s.io/name": "llm-lws",
        "leaderworkerset.sigs.k8s.io/group-key": key,
    }
    leader, *workers = pods
    leader["metadata"]["labels"] |= labels
    for pod in workers:
        pod["metadata"]["labels"] = labels
    return list(pods)


def test_services_replicas(gpu):
    pods = [
        gpu.replica("a", "x"),
        gpu.replica("b", "y", ready=False),
        gpu.replica("picker", "x", gpus=0),
        gpu.pod("other", "x", gpus=1, labels={"app.kubernetes.io/name": "llm"}),
        {**gpu.replica("ended", "x"), "status": {"phase": "Failed"}},
    ]
    services = Services(pods, [gpu.workload(3), gpu.workload(1, gpus=0)])
    (service,) = services
    assert (str(service), service.wanted, service.ready) == ("NIMService nim/llm", 3, 1)
    assert [sorted(item.nodes) for item in service.replicas] == [["x"], ["y"]]
    assert services.of(pods[0]) is service
    assert services.of(pods[3]) is None


def test_services_without_workload(gpu):
    (service,) = Services([gpu.replica("a"), gpu.replica("b")], [])
    assert service.wanted == 2


def test_services_group(gpu):
    pods = group(gpu, "k", gpu.replica("leader", "x"), gpu.pod("worker", "y", gpus=1))
    services = Services(pods, [])
    (service,) = services
    (replica,) = service.replicas
    assert (replica.nodes, replica.is_ready, service.ready) == ({"x", "y"}, True, 1)
    assert services.of(pods[1]) is service
    pods[1]["status"]["conditions"][0]["status"] = "False"
    (service,) = Services(pods, [])
    assert service.ready == 0


@pytest.mark.parametrize("reason", ["Unschedulable", "SchedulingGated"])
def test_replica_unschedulable(gpu, reason):
    pod = gpu.replica("a", ready=False)
    pod["status"]["conditions"].append(
        {"type": "PodScheduled", "status": "False", "reason": reason}
    )
    (service,) = Services([pod], [])
    assert service.replicas[0].is_unschedulable is (reason == "Unschedulable")


def test_replica_leaving(gpu):
    pod = gpu.replica("a", "x")
    pod["metadata"]["deletionTimestamp"] = "now"
    (service,) = Services([pod, gpu.replica("b", "y")], [])
    assert (service.ready, len(service.others(lambda item: False))) == (1, 1)
