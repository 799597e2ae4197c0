# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes as Node Feature Discovery labels them, and a ClusterPolicy for them."""

from __future__ import annotations

import typing as t

from nimops_harness.cluster import Api, Json, kubectl, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.runtime import ROOT
from nimops_harness.workload import NODE_LABELS, make

from .bulk import in_parallel

NODES_OF_SANDBOX = ROOT / "sandbox" / "objects" / "nodes.yaml"
SIMULATED = "sandbox.nimops/simulated"
BENCH = "bench.nimops.nim/node"
DEVICE = "feature.node.kubernetes.io/pci-10de.present"
OF_GPUS = ("nvidia.com/", "nimops.nim/", "feature.node.kubernetes.io/")
REQUIRED = (
    *("operator", "daemonsets", "driver", "toolkit", "devicePlugin", "dcgmExporter", "dcgm"),
    *("nodeStatusExporter", "gfd"),
)
ROOM = {"cpu": "256", "memory": "2Ti", "pods": "1000", "nvidia.com/gpu": "1000"}


def make_node(name: str, **more: str) -> Json:
    """A node with a GPU, and with as many labels as Node Feature Discovery gives a real one.

    It is Ready already, so that the simulator leaves its status alone. `more`: further labels.
    """
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.F{number}": "true" for number in range(90)}
    labels |= NODE_LABELS | {"kubernetes.io/hostname": name, DEVICE: "true", BENCH: "true"}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels | more},
        "status": {
            "conditions": [ready],
            "nodeInfo": {"containerRuntimeVersion": "containerd://2.1.0"},
            "capacity": ROOM,
            "allocatable": ROOM,
        },
    }


def make_policy(name: str) -> Json:
    """A ClusterPolicy with only the required fields."""
    return make("ClusterPolicy", name, {key: {} for key in REQUIRED})


def create_nodes(names: t.Iterable[str], **labels: str) -> None:
    """Create nodes, with further labels."""

    def create(api: Api, name: str) -> None:
        api.request("POST", path_of("Node", ""), make_node(name, **labels))

    in_parallel(list(names), create, "nodes")


def is_labeled(api: Api, name: str) -> bool:
    """Whether the operator labeled a node."""
    labels = api.get(path_of("Node", "", name))["metadata"]["labels"]
    return bool(labels.get("nvidia.com/gpu.present") == "true")


def delete_nodes(api: Api) -> None:
    """Delete all nodes of a bench."""

    def delete(of: Api, name: str) -> None:
        of.request("DELETE", path_of("Node", "", name))

    found = api.items("Node", "", labelSelector=BENCH)
    in_parallel([item["metadata"]["name"] for item in found], delete, "nodes")


def hide_gpus(api: Api) -> None:
    """Remove the GPU labels of the sandbox's nodes; HarnessError on other clusters."""
    nodes = api.items("Node", "")
    for node in nodes:
        labels = node["metadata"]["labels"]
        if not {SIMULATED, BENCH} & labels.keys():
            raise HarnessError(
                f"the node {node['metadata']['name']} is none of the sandbox's: its labels are not touched"
            )
    for node in nodes:
        metadata = node["metadata"]
        gone = {
            field: {key: None for key in metadata.get(field) or {} if key.startswith(OF_GPUS)}
            for field in ("labels", "annotations")
        }
        api.patch(path_of("Node", "", metadata["name"]), {"metadata": gone})


def show_gpus(api: Api) -> None:
    """Restore the sandbox's nodes."""
    hide_gpus(api)
    kubectl("apply", "--server-side", "--force-conflicts", f"--filename={NODES_OF_SANDBOX}")


def list_policies(api: Api) -> list[str]:
    return [item["metadata"]["name"] for item in api.items("ClusterPolicy", "")]
