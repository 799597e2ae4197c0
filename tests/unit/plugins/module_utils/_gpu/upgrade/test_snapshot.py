# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.revisions import Revisions
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.snapshot import (
    NO_DRIVER,
    Driver,
    Node,
    drivers_by_node,
    is_up,
    parse_seconds,
)


def marked(gpu, text):
    return Node(gpu.node("n", states.DRAIN, **{labels.SINCE: text}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("drain-required 5", (5, "")),
        ("drain-required 5 held", (5, "held")),
        ("cordon-required 5", (0, "")),
        ("drain-required", (0, "")),
        ("drain-required -5", (0, "")),
        ("drain-required 99999999999999", (0, "")),  # no year has that second
        ("drain-required 99999999999999999999", (0, "")),
        ("", (0, "")),
    ],
)
def test_node_since(gpu, text, expected):
    assert marked(gpu, text).since == expected


@pytest.mark.parametrize(("text", "expected"), [("1", 1), ("", 0), ("x", 0), ("٣", 0), ("1.5", 0)])
def test_parse_seconds(text, expected):
    assert parse_seconds(text) == expected


def test_node_ready_without_conditions(gpu):
    node = gpu.node("n")
    assert Node(node).is_ready
    node["status"]["conditions"][0]["status"] = "Unknown"
    assert not Node(node).is_ready
    del node["status"]
    assert Node(node).is_ready


def test_drivers_by_node_leaving(gpu):
    old, new = gpu.driver("n", "old"), gpu.driver("n", "new")
    old["metadata"]["deletionTimestamp"] = "now"
    pending = gpu.driver("m")
    del pending["spec"]["nodeName"]
    for pods in ([old, new], [new, old]):
        found = drivers_by_node([*pods, pending], Revisions([]))
        assert found["n"].pod is new
        assert list(found) == ["n"]


def test_driver_in_sync(gpu):
    leaving = gpu.driver("n")
    leaving["metadata"]["deletionTimestamp"] = "now"
    orphan = gpu.pod("d", "n", owner="")
    assert not Driver(leaving, False, False).is_in_sync
    assert not Driver(orphan, False, False).is_in_sync
    assert not Driver(gpu.driver("n"), True, False).is_in_sync
    assert Driver(gpu.driver("n"), False, False).is_ready


def test_is_up(gpu):
    pod = gpu.driver("n")
    assert is_up(pod)
    pod["status"]["containerStatuses"].append({"name": "d", "ready": False})
    pod["status"]["conditions"] = []
    assert not is_up(pod)
    pending = {"phase": "Pending", "containerStatuses": [{"ready": True}]}
    assert not is_up({**gpu.driver("n"), "status": pending})
    assert not is_up({**gpu.driver("n"), "status": {"phase": "Running"}})


def test_managed_without_driver(gpu, snapshot):
    by_name = {"c": "", "b": states.DONE, "a": states.RESTART, "d": ""}
    nodes = [gpu.node(name, state) for name, state in by_name.items()]
    found = snapshot(nodes, drivers={"d": "new"})
    assert [node.name for node in found.managed] == ["a", "d"]


def test_node_is_of():
    labels = {"nvidia.com/gpu-operator.driver.owner": "a"}
    mine = Node({"metadata": {"name": "n", "labels": labels}})
    unowned = Node({"metadata": {"name": "n"}})
    found = [mine.is_of(owner) for owner in ("a", "b", NO_DRIVER, None)]
    assert found == [True, False, False, True]
    assert [unowned.is_of(owner) for owner in ("a", NO_DRIVER, None)] == [False, True, True]
