# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Calls `_cluster/reader.py` and, with nothing to write, `_cluster/status_writer.py` in-process.

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
from ansible_collections.nimops.nim.plugins.module_utils._cluster.writer import needs_own_client
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import (
    PLAN,
    RESOURCE,
    pack,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reconcile import (
    conclude,
    is_deleted,
    look,
)
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._action import (
    CLUSTER_SPEC,
    Action,
)

_STEPS = ("adopt", "apply", "prune")
_LAST_RUN = "last-run"
_NOTHING: dict[str, t.Any] = {"steps": [], "error": "", "period": ""}


class ActionModule(Action):
    """Reads and reports; in check mode it only returns what it would report."""

    spec = CLUSTER_SPEC | {"report": {"type": "bool", "default": False}}

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the reads of the resource's kind, and make the plan from them."""
        client, kind = self.connect(arguments), kind_of(arguments["resource"])
        resource = find_subject(client, arguments["resource"])
        if resource is None or is_deleted(resource):
            _mark_work_folder_unused()
        if resource is None:
            plan = {key: [] for key in _STEPS}
            return {"changed": False, "observed": pack({}), "plan": plan, "status": {}} | _NOTHING
        namespace = resource["metadata"].get("namespace") or ""
        with LiveCluster(client, namespace, is_dry=self._task.check_mode) as cluster:
            seen = look(kind, resource, cluster)
            plan = asdict(seen.plan)
            observed = pack({**seen.answers, RESOURCE: resource, PLAN: plan})
            if PREFIX in observed:
                refuse_reserved_keys(plan)  # From any source: tasks pass the plan on to Ansible.
            found = {
                "changed": False,
                "observed": observed,
                "plan": {key: plan[key] for key in _STEPS},
                "steps": [step for step in _STEPS if plan[step]],
            }
            if not arguments["report"]:
                return found
            if found["steps"] and not needs_own_client(seen.plan):
                steps = [*found["steps"], "report"]
                return found | {
                    "steps": ["write"] if steps == ["apply", "report"] else steps,
                    "error": "",
                    "period": "",
                }
            outcome = cluster.write(seen.plan)
            said = asdict(conclude(kind, resource, seen.answers, outcome, cluster))
        said["changed"] = said["changed"] or not seen.plan.is_empty
        return found | said | {"steps": []}


def _mark_work_folder_unused() -> None:
    """Signal that the operator's work folder of this run is no longer needed."""
    if artifacts := os.environ.get("AWX_ISOLATED_DATA_DIR"):  # <work folder>/artifacts/<run>
        with contextlib.suppress(OSError):
            Path(artifacts).parents[1].joinpath(_LAST_RUN).touch(mode=0o600)
