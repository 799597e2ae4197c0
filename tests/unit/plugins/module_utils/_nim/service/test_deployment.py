# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.rollout import build_strategy
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.deployment import (
    build_deployment,
    strategy_reads,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.model_store import (
    Store,
)

STORE = Store({"emptyDir": {}})


def pod_of(deployment):
    pod = deployment["spec"]["template"]["spec"]
    assert isinstance(pod, dict)
    return pod


def test_build_deployment(make):
    made = build_deployment(make.app(operator={"version": "7"}), STORE)
    assert made["spec"]["replicas"] == 1
    assert made["spec"]["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 0},
    }
    assert made["spec"]["selector"] == {"matchLabels": {"app": "llm"}}
    assert made["spec"]["template"]["metadata"]["labels"] == made["metadata"]["labels"] | {
        "app": "llm"
    }
    assert pod_of(made)["securityContext"] == {
        "runAsUser": 1000,
        "runAsGroup": 2000,
        "fsGroup": 2000,
    }


def test_build_deployment_user_labels(make):
    made = build_deployment(make.app({"labels": {"app": "mine"}}), STORE)
    assert made["spec"]["template"]["metadata"]["labels"]["app"] == "llm"
    assert made["metadata"]["labels"]["app"] == "mine"


def test_build_deployment_unset_replicas(make):
    made = build_deployment(make.app({"replicas": None}), STORE)
    assert "replicas" not in made["spec"]


def test_build_deployment_operator_upgrade(make):
    label = "app.kubernetes.io/operator-version"
    live = build_deployment(make.app(operator={"version": "1"}), STORE)
    made = build_deployment(make.app(None, live, operator={"version_label": "2"}), STORE)
    assert made["metadata"]["labels"][label] == "2"
    assert made["spec"]["template"] == live["spec"]["template"]


PODS = "Pod/ns/*?app=llm"


def updating(replicas, updated, available, given="25%"):
    """A live Deployment during an update."""
    return {
        "kind": "Deployment",
        "metadata": {"name": "llm", "namespace": "ns"},
        "spec": {
            "replicas": replicas,
            "strategy": {"rollingUpdate": {"maxUnavailable": given, "maxSurge": 0}},
        },
        "status": {"updatedReplicas": updated, "availableReplicas": available},
    }


def pods(*reasons):
    return [
        {"status": {"conditions": [{"type": "PodScheduled", "reason": reason}]}}
        for reason in reasons
    ]


UNSCHEDULABLE, ON_NODE = "Unschedulable", ""


def test_build_deployment_strategy(make):
    live, pending = updating(3, 1, 2), pods(UNSCHEDULABLE)
    strategies = [
        build_deployment(make.app(None, live, **answers), STORE)["spec"]["strategy"]
        for answers in ({}, {PODS: pending})
    ]
    assert strategies == [build_strategy(live, []), build_strategy(live, pending)]
    assert strategies[0] != strategies[1]


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        pytest.param([], [], id="new"),
        pytest.param([updating(3, 3, 3)], [], id="Ready"),
        pytest.param([updating(3, 3, 2)], [], id="no update"),
        pytest.param([updating(3, 1, 3)], [], id="update that misses none"),
        pytest.param([updating(3, 1, 2)], [PODS], id="update that misses one"),
    ],
)
def test_strategy_reads(make, live, wanted):
    found = strategy_reads(make.app(None, *live))
    assert [read.key for read in found] == wanted
