# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest
from nimops_sandbox import components
from nimops_sandbox.node import components as node
from nimops_sandbox.node import network
from nimops_sandbox.node.instance import NodeInstance
from nimops_sandbox.ports import Ports

LINES = node.command_lines(Path("/d"))
PLANE = components.command_lines(Path("/d"), Ports(7000), node.REAL)


def test_command_lines() -> None:
    names = [*NodeInstance.before_api, *NodeInstance.after_api]
    assert sorted(names) == sorted({**LINES, **PLANE})
    assert names.index("containerd") < names.index("kubelet")


@pytest.mark.parametrize("name", [*LINES, *PLANE])
def test_addresses_isolated(name: str) -> None:
    line = " ".join({**LINES, **PLANE}[name])
    known = {network.ADDRESS, network.SERVICES.split("/")[0], "127.0.0.1", "0.0.0.0"}
    known.add(components.POD_RANGE.split("/")[0])
    assert set(re.findall(r"\d+\.\d+\.\d+\.\d+", line)) <= known


def test_control_plane_for_real_pods() -> None:
    apiserver = " ".join(PLANE["kube-apiserver"])
    assert f"--advertise-address={network.ADDRESS}" in apiserver
    assert "--disable-admission-plugins" not in apiserver, "pods would get no tokens"
    assert "--endpoint-reconciler-type=none" not in apiserver, "pods would not reach it"
    assert "--controllers=*" in PLANE["kube-controller-manager"]


def test_simulated_node_label() -> None:
    assert f"--manage-nodes-with-label-selector={node.SIMULATED_NODES}" in PLANE["kwok"]
    assert "--manage-all-nodes=true" not in PLANE["kwok"]
    nodes = (Path(components.__file__).parents[1] / "objects/nodes.yaml").read_text()
    key, value = node.SIMULATED_NODES.split("=")
    assert nodes.count("kind: Node") == nodes.count(f'{key}: "{value}"') == 3
    assert key not in " ".join(LINES["kubelet"])
