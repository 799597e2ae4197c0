# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.disruption import (
    budgets_of,
    why_held,
    why_never_evicted,
)


@pytest.fixture
def pod(gpu):
    return gpu.replica("a", "n")


def test_budgets_of_namespace_and_labels(gpu, pod):
    mine, other = gpu.budget(), gpu.budget("other", app="x")
    elsewhere = gpu.budget("elsewhere")
    elsewhere["metadata"]["namespace"] = "z"
    nothing = gpu.budget("nothing")
    nothing["spec"]["selector"] = None
    assert budgets_of(pod, [mine, other, elsewhere, nothing]) == [mine]


@pytest.mark.parametrize(
    ("budget", "held", "never"),
    [
        pytest.param({"healthy": 2, "wanted": 1}, "", "", id="one may go"),
        pytest.param(
            {"healthy": 1, "wanted": 1},
            "PodDisruptionBudget nim/b allows no disruption now (1 healthy, 1 desired)",
            "",
            id="later",
        ),
        pytest.param(
            {"healthy": 2, "wanted": 2, "maxUnavailable": 0},
            "PodDisruptionBudget nim/b allows no disruption now (2 healthy, 2 desired)",
            "PodDisruptionBudget nim/b (maxUnavailable: 0) never lets one of 2 pods go: lower it,"
            " or raise the replicas",
            id="maxUnavailable 0",
        ),
        pytest.param(
            {"healthy": 1, "wanted": 3, "minAvailable": "100%"},
            "PodDisruptionBudget nim/b allows no disruption now (1 healthy, 3 desired)",
            "PodDisruptionBudget nim/b (minAvailable: 100%) never lets one of 2 pods go: lower it,"
            " or raise the replicas",
            id="as many as there are",
        ),
    ],
)
def test_why_held_and_why_never_evicted(gpu, pod, budget, held, never):
    budgets = [gpu.budget(**budget)]
    assert (why_held(pod, budgets), why_never_evicted(pod, budgets)) == (held, never)


def test_why_never_evicted_several_budgets(gpu, pod):
    budgets = [gpu.budget("b"), gpu.budget("a")]
    both = "PodDisruptionBudget nim/a and PodDisruptionBudget nim/b"
    assert why_held(pod, budgets).startswith(f"{both} select it")
    assert why_never_evicted(pod, budgets).startswith(f"{both} select the same pod")


def test_why_held_pod_not_running(gpu, pod):
    budgets = [gpu.budget(healthy=0)]
    assert why_held(pod, budgets)
    for phase in ("Pending", "Failed", "Succeeded"):
        assert why_held({**pod, "status": {"phase": phase}}, budgets) == ""


def test_why_held_new_budget(gpu, pod):
    budget = gpu.budget()
    del budget["status"]
    assert "allows no disruption now" in why_held(pod, [budget])
    assert why_never_evicted(pod, [budget]) == ""
