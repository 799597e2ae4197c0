# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Calls `observe` and `plan` of `_engine/steps.py`; documented in plugins/modules/nim_observe.py."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    PREFIX,
    refuse_reserved_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.subject import find_subject
from ansible_collections.nimops.nim.plugins.module_utils._engine import steps
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    PLAN,
    RESOURCE,
    Observed,
    pack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, Action

_STEPS = ("adopt", "apply", "prune")


class ActionModule(Action):
    """Reads, and writes nothing."""

    spec = CLUSTER_SPEC

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the reads of the resource's kind, and make the plan from them."""
        client, kind = self.connect(arguments), kind_of(arguments["resource"])
        resource = find_subject(client, arguments["resource"])
        if resource is None:
            return _described({}, Plan())
        namespace = resource["metadata"].get("namespace") or ""
        with LiveCluster(client, namespace, is_dry=self._task.check_mode) as cluster:
            answers = steps.observe(kind, resource, cluster)
        _desired, plan = steps.plan(kind, resource, Observed(answers))
        return _described({**answers, RESOURCE: resource}, plan)


def _described(answers: dict[str, t.Any], plan: Plan) -> dict[str, t.Any]:
    planned = asdict(plan)
    observed = pack({**answers, PLAN: planned})
    if PREFIX in observed:
        refuse_reserved_keys(planned)  # From any source: tasks pass the plan on to Ansible.
    return {
        "changed": False,
        "observed": observed,
        "plan": {key: planned[key] for key in _STEPS},
    }
