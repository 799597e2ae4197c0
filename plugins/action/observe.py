# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/observer.py` and, with nothing to write, to `_k8s/reporter.py`.

Documented in plugins/modules/observe.py.
"""

from __future__ import annotations

import contextlib
import os
import typing as t
from dataclasses import asdict
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._common.markers import (
    PREFIX,
    refuse_markers,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    PLAN,
    RESOURCE,
    pack,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.observer import observe
from ansible_collections.nimops.nim.plugins.module_utils._k8s.outcome import make_outcome
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import report
from ansible_collections.nimops.nim.plugins.module_utils._k8s.subject import find_subject
from ansible_collections.nimops.nim.plugins.module_utils._k8s.writer import (
    carry_out,
    exceeds_tasks,
)
from ansible_collections.nimops.nim.plugins.module_utils._planner import plan_for
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, PlainAction

_STEPS = {"claim": "adopt", "apply": "apply", "prune": "prune"}
_LAST_RUN = "last-run"
_NOTHING: dict[str, t.Any] = {"steps": [], "error": "", "period": ""}


class ActionModule(PlainAction):
    """Reads; what it reports, in check mode it only says."""

    spec = CLUSTER_SPEC | {"report": {"type": "bool", "default": False}}

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the reads of the resource's kind, and plan once what follows from them."""
        client = self.connect(arguments)
        resource = find_subject(client, arguments["resource"])
        if resource is None or resource["metadata"].get("deletionTimestamp"):
            _mark_last_run()
        if resource is None:
            plan = {key: [] for key in _STEPS.values()}
            return {"changed": False, "observed": pack({}), "plan": plan, "status": {}} | _NOTHING
        answers = observe(client, resource)
        plan = plan_for(resource, answers)
        observed = pack({**answers, RESOURCE: resource, PLAN: plan})
        if PREFIX in observed:
            refuse_markers(plan)  # Whatever they came from: tasks pass the plan on to Ansible.
        found = {
            "changed": False,
            "observed": observed,
            "plan": {key: plan[key] for key in _STEPS.values()},
            "steps": [step for step, key in _STEPS.items() if plan[key]],
        }
        if not arguments["report"]:
            return found
        dry = self._task.check_mode
        if found["steps"] and not exceeds_tasks(plan):
            steps = [*found["steps"], "report"]
            return found | {
                "steps": ["write"] if steps == ["apply", "report"] else steps,
                "error": "",
                "period": "",
            }
        if found["steps"] and not dry:
            outcome = carry_out(client, plan)
        else:
            outcome = make_outcome(plan, {}, {}, "", dry=dry)
        said = asdict(report(client, resource, answers, outcome, dry=dry))
        said["changed"] = said["changed"] or bool(found["steps"])
        return found | said | {"steps": []}


def _mark_last_run() -> None:
    """Tell who keeps the operator's work folders that this run's is not needed any more."""
    if artifacts := os.environ.get("AWX_ISOLATED_DATA_DIR"):  # <work folder>/artifacts/<run>
        with contextlib.suppress(OSError):
            Path(artifacts).parents[1].joinpath(_LAST_RUN).touch(mode=0o600)
