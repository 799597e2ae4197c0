# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    CLUSTER_VERSIONS,
    GPU_CLUSTERS,
)


def test_driver_app_namespace(nvd):
    found = nvd.app(gpu_namespace="elsewhere").child("ConfigMap", name="x")
    assert found["metadata"]["namespace"] == "elsewhere"
    assert "labels" not in found["metadata"]


@pytest.mark.parametrize(
    ("policy", "is_disabled", "text"),
    [
        (None, False, None),
        ({}, True, None),
        ({"driver": {"useNvidiaDriverCRD": False}}, True, None),
        (False, False, "no ClusterPolicy object found in the cluster"),
        (
            {"driver": {"useNvidiaDriverCRD": True}, "sandboxWorkloads": {"enabled": True}},
            False,
            "sandboxWorkloads.enabled: ",
        ),
    ],
)
def test_driver_app_policy(nvd, policy, is_disabled, text):
    app = nvd.app(policy=policy)
    assert app.is_disabled is is_disabled
    assert app.obstacle is None if text is None else str(app.obstacle).startswith(text)


@pytest.mark.parametrize(
    "answers",
    [
        {CLUSTER_VERSIONS.key: {"metadata": {}}},
        {GPU_CLUSTERS.key: [{"metadata": {"name": "gpu-cluster"}}]},
    ],
)
def test_driver_app_obstacle(nvd, answers):
    assert nvd.app(answers=answers).obstacle is not None


def test_driver_app_nodes(nvd):
    nodes = [nvd.node("x"), nvd.node("y", "b"), nvd.node("z", None)]
    live = [nvd.live("DaemonSet", "d1"), nvd.live("DaemonSet", "d2", owner="b")]
    app = nvd.app(nodes=nodes, live=live)
    assert [node["metadata"]["name"] for node in app.nodes.with_gpu] == ["x"]
    assert [item["metadata"]["name"] for item in app.daemon_sets] == ["d1"]


def test_driver_app_newest_spec(nvd):
    stale = nvd.driver("a", {"nodeSelector": {"pool": "old"}})
    app = nvd.app({"nodeSelector": {"pool": "new"}}, nodes=[nvd.node("x", None, {"pool": "new"})])
    app.observed.answers["NVIDIADriver/*"] = [stale]
    assert app.owners.missing_nodes("a") == ["x"]


@pytest.mark.parametrize(
    ("upgrade", "is_assumed", "names", "reasons"),
    [
        ({}, False, ["a"], []),
        ({"autoUpgrade": False}, False, [], ["upgradePolicy.autoUpgrade is false"]),
        ({"autoUpgrade": False}, True, ["a"], ["upgradePolicy.autoUpgrade is false"]),
        ({"maxUnavailable": "many"}, True, [], ["upgradePolicy.maxUnavailable"]),
    ],
)
def test_driver_app_upgrades(nvd, upgrade, is_assumed, names, reasons):
    found = nvd.app({"upgradePolicy": upgrade}).upgrades(is_assumed=is_assumed)
    assert list(found.policies) == names
    assert [item.split(": ")[:2] for item in found.reasons] == [
        ["NVIDIADriver a", reason] for reason in reasons
    ]


def test_driver_app_node_selector(nvd):
    assert nvd.app().node_selector == {}
    assert nvd.app({"nodeSelector": {"pool": "a"}}).node_selector == {"pool": "a"}
