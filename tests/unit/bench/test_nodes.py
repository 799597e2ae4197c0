# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Nodes and policies of the bench, and the labels that it takes from the sandbox's nodes."""

from __future__ import annotations

import typing as t

import pytest
from nimops_bench.nodes import BENCH, SIMULATED, hide_gpus, make_node, make_policy
from nimops_harness.errors import HarnessError

PCI = "feature.node.kubernetes.io/pci-10de.present"


class FakeApi:
    """Nodes by name, and merge patches of their metadata."""

    def __init__(self, *nodes: dict[str, t.Any]) -> None:
        self.nodes = {f"/api/v1/nodes/{node['metadata']['name']}": node for node in nodes}
        self.patched: list[str] = []

    def get(self, _path: str) -> dict[str, t.Any]:
        return {"items": list(self.nodes.values())}

    def patch(self, path: str, change: dict[str, t.Any]) -> None:
        self.patched.append(path)
        for field, values in change["metadata"].items():
            have = self.nodes[path]["metadata"].setdefault(field, {})
            for key, value in values.items():
                assert value is None
                del have[key]


def sandbox_node(name: str, **labels: str) -> dict[str, t.Any]:
    return {"metadata": {"name": name, "labels": {SIMULATED: "true", "x": "y"} | labels}}


def test_a_node_is_ready_and_has_a_gpu() -> None:
    node = make_node("a", **{"nvidia.com/gpu.deploy.operands": "false"})
    labels = node["metadata"]["labels"]
    assert (labels[PCI], labels["nvidia.com/gpu.deploy.operands"]) == ("true", "false")
    assert len(labels) > 90
    assert node["status"]["conditions"][0]["status"] == "True"


def test_a_policy_says_nothing() -> None:
    assert set(map(str, make_policy("a")["spec"].values())) == {"{}"}


def test_gpus_of_the_sandbox_are_hidden() -> None:
    node = sandbox_node("gpu-0", **{PCI: "true", "nvidia.com/gpu.present": "true"})
    node["metadata"]["annotations"] = {"nvidia.com/gpu-driver-upgrade-enabled": "true", "a": "b"}
    api: t.Any = FakeApi(node)
    hide_gpus(api)
    assert node["metadata"]["labels"] == {SIMULATED: "true", "x": "y"}
    assert node["metadata"]["annotations"] == {"a": "b"}


def test_nodes_of_others_are_not_touched() -> None:
    own = make_node("mine")
    assert BENCH in own["metadata"]["labels"]
    api: t.Any = FakeApi(
        sandbox_node("gpu-0", **{PCI: "true"}), own, {"metadata": {"name": "z", "labels": {}}}
    )
    with pytest.raises(HarnessError, match="the node z is none of the sandbox's"):
        hide_gpus(api)
    assert api.patched == []
