# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.slots import count_slots
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import Node

R, C, J, F, D = states.REQUIRED, states.CORDON, states.JOBS, states.FAILED, states.DONE


@pytest.mark.parametrize(
    ("states", "policy", "expected"),
    [
        pytest.param("RRRRRRRR", {}, 1, id="one at a time"),
        pytest.param("JRRRRRRR", {}, 0, id="one is under way"),
        pytest.param("FRRRRRRR", {}, 0, id="a failed one keeps its slot"),
        pytest.param("RRRRRRRR", {"maxParallelUpgrades": 4}, 2, id="a quarter"),
        pytest.param("RRRRRRRR", {"maxParallelUpgrades": 0}, 2, id="no limit but the quarter"),
        pytest.param("RRRRRRRR", {"maxParallelUpgrades": 0, "maxUnavailable": "100%"}, 8, id="all"),
        pytest.param("CRRRRRRR", {"maxParallelUpgrades": 4}, 1, id="about to be cordoned"),
        pytest.param("jRRRRRRR", {"maxParallelUpgrades": 4}, 1, id="cordoned"),
        pytest.param("dRRRRRRR", {"maxParallelUpgrades": 4}, 1, id="cordoned by a user"),
        pytest.param("XRRRRRRR", {"maxParallelUpgrades": 4}, 1, id="not ready"),
        pytest.param("XXXRRRRR", {"maxParallelUpgrades": 4}, 0, id="too many are not ready"),
        pytest.param("RRR", {"maxUnavailable": 0}, 0, id="none"),
        pytest.param("DDD", {"maxParallelUpgrades": 0}, 0, id="none wants one"),
    ],
)
def test_count_slots(gpu, states, policy, expected):
    known = {"R": R, "C": C, "J": J, "F": F, "D": D, "X": D}
    nodes = [
        Node(gpu.node(f"n{i}", known[x.upper()], cordoned=x.islower(), ready=x != "X"))
        for i, x in enumerate(states)
    ]
    assert count_slots(nodes, parse_policy(policy)) == expected


def test_count_slots_started_nodes(gpu, snapshot):
    nodes = [gpu.node(f"n{i}", R) for i in range(8)]
    policy = parse_policy({"maxParallelUpgrades": 5, "maxUnavailable": 3})
    steps = take_step(snapshot(nodes), policy).nodes
    assert [item.state for item in steps] == [C, C, C, R, R, R, R, R]
    assert steps[3].waits.startswith("its turn")


def test_count_slots_cordoned(gpu, snapshot):
    nodes = [gpu.node("a", R, cordoned=True), gpu.node("b", R), gpu.node("c", R)]
    steps = take_step(snapshot(nodes), parse_policy({"maxUnavailable": 3})).nodes
    assert [item.state for item in steps] == [R, C, R], "it takes no slot"
    steps = take_step(snapshot(nodes), parse_policy({"maxUnavailable": 1})).nodes
    assert [item.state for item in steps] == [R, R, R], "but it is unavailable"
