# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.runtimes import (
    TOOLKIT_CONTAINER,
    TOOLKIT_LABEL,
    Toolkit,
    find_toolkit,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import GPU_PRESENT, Nodes

CONTAINERD, CRIO, DOCKER = "containerd://2.1.5", "cri-o://1.34.0", "docker://20.10.20"


def found(gpu, nodes, deployed=None):
    """The toolkit for nodes (runtime, value of the label), and the names of the other nodes."""
    made = [
        gpu.node(f"n{number}", {GPU_PRESENT: "true", TOOLKIT_LABEL: label}, runtime)
        for number, (runtime, label) in enumerate(nodes)
    ]
    env = [{"name": "RUNTIME", "value": deployed}]
    containers = [{"name": "other"}, {"name": TOOLKIT_CONTAINER, "env": env}]
    live = {"spec": {"template": {"spec": {"containers": containers if deployed else []}}}}
    return find_toolkit(Nodes(made), live)


@pytest.mark.parametrize(
    ("nodes", "deployed", "runtime", "others"),
    [
        pytest.param([(CRIO, "true"), (CONTAINERD, "true")], None, "containerd", "n0", id="new"),
        pytest.param([(CRIO, "true"), (CONTAINERD, "true")], "crio", "crio", "n1", id="deployed"),
        pytest.param([(CRIO, "true"), (DOCKER, "true")], None, "docker", "n0", id="last"),
        pytest.param([(CONTAINERD, "false"), (CRIO, "true")], None, "crio", "", id="one is off"),
        pytest.param([(CONTAINERD, None), (CRIO, "true")], None, "crio", "", id="not labeled"),
        pytest.param([(CRIO, "false")], None, "crio", "", id="all are off"),
        pytest.param(
            [(CONTAINERD, "true"), (CRIO, "paused-for-driver-upgrade")],
            None,
            "containerd",
            "n1",
            id="paused",
        ),
        pytest.param([(CONTAINERD, "true"), ("", "true")], None, "containerd", "", id="unknown"),
        pytest.param([], "crio", "containerd", "", id="no node"),
    ],
)
def test_find_toolkit(gpu, nodes, deployed, runtime, others):
    toolkit = found(gpu, nodes, deployed)
    assert (toolkit.runtime, " ".join(toolkit.others)) == (runtime, others)


def test_toolkit_problem_bounded():
    assert Toolkit("containerd").problem == ""
    names = {f"n{number}": "docker" for number in range(9)}
    problem = Toolkit("containerd", names).problem
    assert "n4 (docker) and 4 more;" in problem
    assert "n5" not in problem
