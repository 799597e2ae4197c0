# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.tenant_limits import (
    read_switches,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.app import NIMCacheApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.kind import KIND
from ansible_collections.nimops.nim.plugins.module_utils._nim.cache.status import assess


def plan_and_assess(world, **environment):
    """A pass of an operator with these switches."""
    answers = {**world.observe()[1].answers, "operator": read_switches(environment)}
    _wanted, plan = steps.plan(KIND, world.cr, Observed(answers))
    outcome = Outcome(failure=plan.failure, failure_reason=plan.failure_reason or "Failed")
    return plan, assess(NIMCacheApp(world.cr, Observed(answers)), outcome)


@pytest.mark.parametrize("value", ["forbid", "maybe"])
def test_refuse_forbidden_root(world, value):
    made = world(userID=0)
    plan, found = plan_and_assess(made, NIMOPS_ROOT_USER=value)
    assert (plan.apply, plan.adopt, plan.prune) == ([], [], [])
    conditions = {item["type"]: item for item in found.status["conditions"]}
    assert (found.status["state"], found.error, found.requeue.after) == ("NotReady", "", False)
    assert conditions["Stalled"]["reason"] == "Forbidden"
    assert "spec.userID: 0 is forbidden" in conditions["Stalled"]["message"]
    assert "NIMOPS_ROOT_USER" in conditions["NIM_CACHE_RECONCILE_FAILED"]["message"]
    assert plan_and_assess(made, NIMOPS_ROOT_USER="allow")[0].apply


def test_refuse_forbidden_keeps_ready_state(world):
    made = world(userID=0).become_ready()
    plan, found = plan_and_assess(made, NIMOPS_ROOT_USER="forbid")
    assert (plan.apply, plan.prune) == ([], [])
    assert found.status["state"] == "Ready"
    assert {"Stalled"} <= {item["type"] for item in found.status["conditions"]}


@pytest.mark.parametrize(
    ("environment", "granted"),
    [({}, ["anyuid", "nonroot"]), ({"NIMOPS_ROOT_USER": "forbid"}, ["nonroot"])],
)
def test_refuse_forbidden_shared_role(world, environment, granted):
    """All users who may create pods in the namespace can use the Role."""
    plan, _found = plan_and_assess(world(proxy={"httpProxy": "http://p"}), **environment)
    (role,) = (item for item in plan.apply if item["kind"] == "Role")
    assert role["rules"][0]["resourceNames"] == granted
