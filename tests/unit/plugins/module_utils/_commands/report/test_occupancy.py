# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The users of the GPUs of nodes."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.node_status import (
    Log,
    NodeStatus,
    Trouble,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.model import Use
from ansible_collections.nimops.nim.plugins.module_utils._commands.report.occupancy import (
    GpuView,
    find_occupancy,
)

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-1g.10gb"
LABELS = {"app.kubernetes.io/part-of": "nim-service", "app.kubernetes.io/name": "llm"}


def node(name="a", allocatable=None, capacity=None, *, ready="True", **spec):
    status = {"allocatable": {GPU: "8", "cpu": "4"} if allocatable is None else allocatable}
    if capacity:
        status["capacity"] = capacity
    status["conditions"] = [{"type": "Ready", "status": ready}]
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100"}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


def pod(
    name, where="a", count=1, *, resource=GPU, namespace="nim", labels=None, phase="Running", **spec
):
    limits = {"resources": {"limits": {resource: str(count)}}} if count else {}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": {"nodeName": where, "containers": [{"name": "c", **limits}], **spec},
        "status": {"phase": phase},
    }


def device(name, kind="gpu", where="a", **fields):
    attributes = {"type": {"string": kind}, "productName": {"string": "H100"}}
    if kind == "mig":
        attributes["profile"] = {"string": "1g.10gb"}
    return {"name": name, "attributes": attributes, **fields}


def resource_slice(*devices, where="a", driver="gpu.nvidia.com"):
    pool = {"name": where, "generation": 1}
    return {"spec": {"driver": driver, "pool": pool, "nodeName": where, "devices": list(devices)}}


def claim(name, *devices, pod_name="", namespace="nim", where="a"):
    results = [{"driver": "gpu.nvidia.com", "pool": where, "device": item} for item in devices]
    users = [{"resource": "pods", "name": pod_name}] if pod_name else []
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": users}
    return {"metadata": {"name": name, "namespace": namespace}, "status": status}


def only(view):
    (found,) = find_occupancy(view)
    return found


def test_device_plugin():
    pods = [
        pod("llm-1", count=4, labels=LABELS),
        pod("llm-2", count=1, labels=LABELS),
        pod("other", count=2, namespace="x"),
        pod("ended", count=8, phase="Succeeded"),
        pod("pending", where=""),
        pod("without", count=0),
    ]
    found = only(GpuView([node()], pods))
    assert (found.name, found.product, found.state) == ("a", "NVIDIA-H100", "")
    (pool,) = found.pools
    assert pool.uses == (Use("NIMService nim/llm", 5), Use("Pod x/other", 2))
    assert (pool.total, pool.used, pool.free, pool.unhealthy) == (8, 7, 1, 0)


def test_pods_of_other_namespaces_are_not_named():
    pods = [pod("llm-1", labels=LABELS), pod("secret-project", count=2, namespace="x")]
    (pool,) = only(GpuView([node()], pods, namespace="nim")).pools
    assert pool.uses == (Use("NIMService nim/llm", 1), Use("other namespaces", 2))


def test_unhealthy_devices():
    (pool,) = only(GpuView([node(allocatable={GPU: "6"}, capacity={GPU: "8"})], [pod("p")])).pools
    assert (pool.total, pool.unhealthy, pool.free) == (8, 2, 5)


def test_more_in_use_than_exist():
    """After devices of running pods became unhealthy."""
    view = GpuView([node(allocatable={GPU: "2"}, capacity={GPU: "4"})], [pod("p", count=4)])
    (pool,) = only(view).pools
    assert (pool.used, pool.free) == (4, 0)


def test_mig_slices():
    live = node(allocatable={GPU: "0", MIG: "7"})
    (pool,) = only(GpuView([live], [pod("p", count=3, resource=MIG)])).pools
    assert (pool.name, pool.free, pool.is_slice) == (MIG, 4, True)


def test_devices_of_dra():
    devices = [device("gpu-0"), device("gpu-1"), device("gpu-2", taints=[{"effect": "NoSchedule"}])]
    devices.append(device("mig-0", "mig"))
    view = GpuView(
        [node(allocatable={})],
        [pod("llm-1", count=0, labels=LABELS, resourceClaims=[{"name": "g"}]), pod("p", count=0)],
        [resource_slice(*devices), resource_slice(device("x"), driver="other.example")],
        [claim("c", "gpu-0", pod_name="llm-1"), claim("unused", "mig-0")],
    )
    gpus, mig = only(view).pools
    assert (gpus.name, gpus.source, gpus.details) == ("gpu.nvidia.com gpu", "DRA", "H100")
    assert (gpus.total, gpus.free, gpus.unhealthy) == (3, 1, 1)
    assert gpus.uses == (Use("NIMService nim/llm", 1),)
    assert (mig.details, mig.free, mig.uses) == (
        "H100 1g.10gb", 0, (Use("ResourceClaim nim/unused", 1),),
    )  # fmt: skip


def test_devices_as_extended_resource():
    """A pod requests nvidia.com/gpu, and the scheduler allocates a DRA device for it."""
    view = GpuView(
        [node(allocatable={})],
        [pod("llm-1", labels=LABELS)],
        [resource_slice(device("gpu-0"), device("gpu-1"))],
        [claim("llm-1-extended-resources-x", "gpu-0", pod_name="llm-1")],
    )
    (pool,) = only(view).pools
    assert (pool.source, pool.free, pool.uses) == ("DRA", 1, (Use("NIMService nim/llm", 1),))


def test_free_partitions_do_not_count():
    shared = {"consumesCounters": [{"counterSet": "x"}]}
    devices = [device("gpu-0", **shared), *(device(f"m{n}", "mig", **shared) for n in range(9))]
    view = GpuView([node(allocatable={})], [], [resource_slice(*devices)], [claim("c", "m1")])
    assert [(pool.name, pool.total) for pool in only(view).pools] == [
        ("gpu.nvidia.com gpu", 1), ("gpu.nvidia.com mig", 1),
    ]  # fmt: skip


def test_nodes_without_gpus_are_left_out():
    assert find_occupancy(GpuView([node(allocatable={"cpu": "4"})], [])) == []


def test_problems_come_first():
    trouble = Trouble("driver", "p", "a kernel", log=Log("gpu", "p", "c"), advice="fix")
    nodes = [node("a"), node("b", unschedulable=True), node("c", {}), node("d", ready="False")]
    statuses = [NodeStatus("a", "Ready"), NodeStatus("c", "Failed", troubles=[trouble])]
    found = find_occupancy(GpuView(nodes, [], statuses=statuses))
    assert [item.name for item in found] == ["b", "c", "d", "a"]
    assert [item.state for item in found] == ["", "Failed", "", "Ready"]
    assert found[0].remarks == ("no new pods: the node is cordoned",)
    assert found[2].remarks == ("the node is not ready",)
    (shown,) = found[1].troubles
    assert (shown.advice, shown.log) == ("fix", "kubectl -n gpu logs p -c c")


@pytest.mark.parametrize("amount", ["x", "", None])
def test_invalid_amounts_are_left_out(amount):
    assert find_occupancy(GpuView([node(allocatable={GPU: amount})], [])) == []
