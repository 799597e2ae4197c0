# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs `report` of `_engine/steps.py`; documented in plugins/modules/nim_report.py."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.load_resource import load_resource
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import make_outcome
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    RESOURCE,
    unpack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.ready_tasks import mark_of
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import is_deleted
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, Action
from ansible_collections.nimops.nim.plugins.plugin_utils._reconcile import (
    PassResult,
    count,
    period_of,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._registered import registered


class ActionModule(Action):
    """Writes status, events and triggers; in check mode it only returns the changes."""

    spec = CLUSTER_SPEC | {
        "resource": {"type": "dict"},
        "observed": {"type": "raw", "default": {}},
        "plan": {"type": "dict", "default": {}},
        "registered": {"type": "str", "default": ""},
        "failure": {"type": "str", "default": ""},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Assess the outcome and report it."""
        answers, dry = unpack(arguments["observed"]), self._task.check_mode
        given = answers.get(RESOURCE) or arguments["resource"]
        if not given:
            raise NimError(
                "resource: missing, and the parameter observed does not contain it either"
            )
        client, kind = self.connect(arguments), kind_of(given)
        resource = load_resource(client, given, strict=False)
        if resource is None:
            return _result(PassResult(None))
        plan = Plan.from_dict(arguments["plan"])
        results = registered(self.variables, arguments["registered"])
        outcome = make_outcome(plan, results, arguments["failure"], dry=dry)
        cluster = LiveCluster(client, is_dry=dry, is_shared=False)
        report = steps.report(kind, resource, answers, outcome, cluster)
        done = PassResult(resource, report, outcome)
        if not dry:
            count(done)
        return _result(done)


def _result(done: PassResult) -> Json:
    report, resource = done.report, done.resource
    mark = mark_of(resource, report.status) if resource else {}
    # After `requeue_after` the runtime removes no finalizer.
    is_leaving = resource is not None and is_deleted(resource)
    period = "" if is_leaving else period_of(done)
    return {**asdict(report), "requeue_after": period, "ready_mark": mark}
