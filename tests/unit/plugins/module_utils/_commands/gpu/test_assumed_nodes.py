# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.assumed_nodes import (
    SYSTEM,
    assumed_nodes,
    check_system,
)

FEATURES = "feature.node.kubernetes.io/"
POLICY = {"kind": "ClusterPolicy", "metadata": {"name": "p"}}
NODE = {"kind": "Node", "metadata": {"name": "a"}}


def driver(**spec: t.Any) -> dict[str, t.Any]:
    return {"kind": "NVIDIADriver", "metadata": {"name": "d"}, "spec": spec}


def labels(*args: t.Any) -> list[dict[str, str]]:
    nodes = assumed_nodes(*args)
    assert len({node["metadata"]["name"] for node in nodes}) == len(nodes)
    return [node["metadata"]["labels"] for node in nodes]


def test_assumed_nodes_system() -> None:
    assert labels([POLICY], [], "sl-micro6.0") == [
        {
            "nvidia.com/gpu.present": "true",
            f"{FEATURES}pci-10de.present": "true",
            f"{FEATURES}system-os_release.ID": "sl-micro",
            f"{FEATURES}system-os_release.VERSION_ID": "6.0",
            f"{FEATURES}system-os_release.VERSION_ID.major": "6",
        }
    ]
    assert labels([POLICY], []) == labels([POLICY], [], SYSTEM)


def test_assumed_nodes_per_kernel() -> None:
    found = labels([POLICY], [], SYSTEM, ["6.8.0-60-generic", "6.8.0-61-generic"])
    kernels = [item[f"{FEATURES}kernel-version.full"] for item in found]
    assert kernels == ["6.8.0-60-generic", "6.8.0-61-generic"]


@pytest.mark.parametrize(
    ("given", "facts", "count"),
    [
        pytest.param([POLICY], [NODE], 0, id="the facts have a node"),
        pytest.param([POLICY], [{"kind": "ConfigMap"}], 1, id="the facts have none"),
        pytest.param([{"kind": "NIMService"}, {"kind": "NIMCache"}], [], 0, id="not of the stack"),
        pytest.param([driver(default=True)], [], 1, id="a driver"),
        pytest.param([{"kind": "NIMService"}, POLICY], [], 1, id="among others"),
    ],
)
def test_assumed_nodes_condition(given: t.Any, facts: t.Any, count: int) -> None:
    assert len(assumed_nodes(given, facts)) == count


def test_assumed_nodes_per_selector() -> None:
    selecting = driver(nodeSelector={"pool": "a"})
    found = labels([POLICY, driver(default=True), selecting, selecting], [])
    assert [item.get("pool") for item in found] == [None, "a"]


@pytest.mark.parametrize("system", ["ubuntu", "24.04", "", "Ubuntu 24.04", "ubuntu24.04\n"])
def test_check_system_invalid(system: str) -> None:
    with pytest.raises(NimError, match=r"is not a name with a version, such as ubuntu24\.04"):
        check_system(system)
    with pytest.raises(NimError, match="is not a name with a version"):
        assumed_nodes([POLICY], [], system)
