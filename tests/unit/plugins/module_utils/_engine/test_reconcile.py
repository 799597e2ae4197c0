# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The order of the steps; test_steps.py tests each step."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ansible_collections.nimops.nim.plugins.module_utils._cluster.facts import Facts
from ansible_collections.nimops.nim.plugins.module_utils._cluster.simulated import SimulatedCluster
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import reconcile
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of

NIM: dict[str, t.Any] = {
    "apiVersion": "apps.nvidia.com/v1alpha1",
    "kind": "NIMService",
    "metadata": {"name": "llm", "namespace": "nim", "uid": "u", "resourceVersion": "1"},
    "spec": {
        "image": {"repository": "nvcr.io/nim/llm", "tag": "1"},
        "authSecret": "ngc",
        "storage": {"emptyDir": {}},
    },
}


class Raced(SimulatedCluster):
    """The first write meets a child that appeared meanwhile."""

    is_new = True

    def __init__(self) -> None:
        super().__init__(Facts([]).ask)
        self.plans: list[Plan] = []

    def write(self, plan: Plan) -> Outcome:
        self.plans.append(plan)
        outcome = super().write(plan)
        return replace(outcome, raced=["Service/nim/llm"] if len(self.plans) == 1 else [])


def test_reconcile_restarts_if_children_exist() -> None:
    cluster = Raced()
    done = reconcile(kind_of(NIM), NIM, cluster)
    assert len(cluster.plans) == 2
    assert (cluster.is_new, done.outcome.raced, done.plan) == (False, [], cluster.plans[1])


def test_reconcile_leaves_other_race_to_next_pass() -> None:
    cluster = Raced()
    cluster.is_new = False
    assert reconcile(kind_of(NIM), NIM, cluster).report.period == "1s"
    assert len(cluster.plans) == 1
