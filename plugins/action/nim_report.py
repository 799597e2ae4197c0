# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Calls `_cluster/status_writer.py` in-process; documented in plugins/modules/nim_report.py."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import asdict, replace

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.native_types import to_native_types
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.subject import find_subject
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import (
    TaskResults,
    make_outcome,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    PLAN,
    RESOURCE,
    unpack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import EMPTY_REPORT
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, Action


class ActionModule(Action):
    """Writes status, events and wake-ups; in check mode it only returns what would change."""

    spec = CLUSTER_SPEC | {
        "resource": {"type": "dict"},
        "observed": {"type": "raw", "default": {}},
        "plan": {"type": "dict", "default": {}},
        "adopted": {"type": "str", "default": ""},
        "written": {"type": "str", "default": ""},
        "deleted": {"type": "str", "default": ""},
        "failure": {"type": "str", "default": ""},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Assess the outcome and report it."""
        answers, dry = unpack(arguments["observed"]), self._task.check_mode
        given = arguments["resource"] or {}
        if "spec" not in given:
            given = answers.get(RESOURCE) or given
        if not given:
            raise NimError(
                "resource: missing, and the parameter observed does not contain it either"
            )
        client, kind = self.connect(arguments), kind_of(given)
        resource = find_subject(client, given, strict=False)
        if resource is None:
            return asdict(EMPTY_REPORT)
        failure = arguments["failure"]
        plan = Plan.from_dict(arguments["plan"] or (not failure and answers.get(PLAN)) or {})
        tasks = {
            name: self._registered(arguments[name]) for name in ("adopted", "written", "deleted")
        }
        outcome = make_outcome(plan, TaskResults(**tasks), failure, dry=dry)
        cluster = LiveCluster(client, is_dry=dry, is_shared=False)
        if plan.patch:
            patched = cluster.write(Plan(patch=plan.patch))
            outcome = replace(outcome, refusals=[*outcome.refusals, *patched.refusals])
        return asdict(steps.report(kind, resource, answers, outcome, cluster))

    def _registered(self, name: str) -> dict[str, t.Any]:
        """The result that a task registered under a name, {} if there is none."""
        result = self.variables.get(name, {})
        if not isinstance(result, Mapping):
            raise NimError(f"the variable {name} is not the result of a task")
        return t.cast("dict[str, t.Any]", to_native_types(result))
