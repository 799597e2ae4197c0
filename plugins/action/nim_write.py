# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Writes one stage of a plan; documented in plugins/modules/nim_write.py."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.task_results import writable
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, Action
from ansible_collections.nimops.nim.plugins.plugin_utils._registered import registered


class ActionModule(Action):
    """Writes objects that `kubernetes.core.k8s` cannot write, or whose values it would print."""

    spec = {key: option for key, option in CLUSTER_SPEC.items() if key != "resource"} | {
        "plan": {"type": "dict", "required": True},
        "stage": {"type": "str", "required": True, "choices": ["own", "rest", "evict"]},
        "registered": {"type": "str", "default": ""},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Write the stage."""
        plan, stage = Plan.from_dict(arguments["plan"]), arguments["stage"]
        part = _part(plan, stage, registered(self.variables, arguments["registered"]))
        cluster = LiveCluster(
            self.connect(arguments), is_dry=self._task.check_mode, is_shared=False
        )
        outcome = cluster.write(part)
        written = {key: _shown(item) for key, item in outcome.written.items()}
        return {"changed": not part.is_empty, "outcome": asdict(outcome) | {"written": written}}


def _part(plan: Plan, stage: str, results: t.Mapping[str, Json]) -> Plan:
    if stage == "evict":
        return Plan(evict=plan.evict)
    apply = writable(plan, stage, results)
    if stage == "own":
        return Plan(apply=apply)
    return Plan(apply=apply, orphan=plan.orphan, patch=plan.patch)


def _shown(written: Json) -> Json:
    """The object without the values of a Secret, for the result of the task."""
    if written.get("kind") != "Secret":
        return written
    return {key: item for key, item in written.items() if key not in ("data", "stringData")}
