# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Calls `_engine/reconcile.py` in-process: its first half, or with ``write`` the whole pass.

Documented in plugins/modules/nim_observe.py.
"""

from __future__ import annotations

import contextlib
import os
import typing as t
from dataclasses import asdict
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._base.reserved_keys import (
    PREFIX,
    refuse_reserved_keys,
)
from ansible_collections.nimops.nim.plugins.module_utils._cluster.live import LiveCluster
from ansible_collections.nimops.nim.plugins.module_utils._cluster.subject import find_subject
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    PLAN,
    RESOURCE,
    pack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.plan import Plan
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import (
    EMPTY_REPORT,
    is_deleted,
    look,
    reconcile,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import (
    CLUSTER_SPEC,
    Action,
)

_STEPS = ("adopt", "apply", "prune")
_LAST_RUN = "last-run"


class ActionModule(Action):
    """Reads and, with ``write``, writes; in check mode it only returns what it would write."""

    spec = CLUSTER_SPEC | {"write": {"type": "bool", "default": False}}

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the reads of the resource's kind, and make the plan from them; or the whole pass."""
        client, kind = self.connect(arguments), kind_of(arguments["resource"])
        resource = find_subject(client, arguments["resource"])
        if resource is None or is_deleted(resource):
            _mark_work_folder_unused()
        is_dry, writes = self._task.check_mode, arguments["write"]
        if resource is None:
            nothing = {**asdict(EMPTY_REPORT), "written": [], "deleted": []}
            return nothing if writes else _described({}, Plan())
        namespace = resource["metadata"].get("namespace") or ""
        is_new = writes and not is_dry and not resource.get("status")
        with LiveCluster(client, namespace, is_dry=is_dry, is_new=is_new) as cluster:
            if not writes:
                seen = look(kind, resource, cluster)
                return _described({**seen.answers, RESOURCE: resource}, seen.plan)
            done = reconcile(kind, resource, cluster)
        plan, outcome = done.look.plan, done.outcome
        return {
            **asdict(done.report),
            "changed": done.report.changed or not plan.is_empty,
            "written": sorted(outcome.written),
            "deleted": sorted(outcome.deleted),
        }


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


def _mark_work_folder_unused() -> None:
    """Signal that the operator's work folder of this run is no longer needed."""
    if artifacts := os.environ.get("AWX_ISOLATED_DATA_DIR"):  # <work folder>/artifacts/<run>
        with contextlib.suppress(OSError):
            Path(artifacts).parents[1].joinpath(_LAST_RUN).touch(mode=0o600)
