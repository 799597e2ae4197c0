# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The labels that the bench removes from the sandbox's nodes."""

from __future__ import annotations

import typing as t

import pytest
from nimops_bench.nodes import BENCH, SIMULATED, hide_gpus, make_node
from nimops_harness.errors import HarnessError

PCI = "feature.node.kubernetes.io/pci-10de.present"


class FakeApi:
    """Nodes by name, and merge patches of their metadata."""

    def __init__(self, *nodes: dict[str, t.Any]) -> None:
        self.nodes = {f"/api/v1/nodes/{node['metadata']['name']}": node for node in nodes}
        self.patched: list[str] = []

    def items(self, _kind: str, _namespace: str) -> list[dict[str, t.Any]]:
        return list(self.nodes.values())

    def patch(self, path: str, change: dict[str, t.Any]) -> None:
        self.patched.append(path)
        for field, values in change["metadata"].items():
            have = self.nodes[path]["metadata"].setdefault(field, {})
            for key, value in values.items():
                assert value is None
                del have[key]


def sandbox_node(name: str, **labels: str) -> dict[str, t.Any]:
    return {"metadata": {"name": name, "labels": {SIMULATED: "true", "x": "y"} | labels}}


def test_hide_gpus_of_foreign_nodes() -> None:
    own = make_node("mine")
    assert BENCH in own["metadata"]["labels"]
    api: t.Any = FakeApi(
        sandbox_node("gpu-0", **{PCI: "true"}), own, {"metadata": {"name": "z", "labels": {}}}
    )
    with pytest.raises(HarnessError, match="the node z is none of the sandbox's"):
        hide_gpus(api)
    assert api.patched == []
