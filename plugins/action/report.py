# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/reporter.py`; documented in plugins/modules/report.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._k8s.outcome import make_outcome
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import report
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, PlainAction


class ActionModule(PlainAction):
    """Writes status, events and wake-ups; in check mode it only says what would change."""

    spec = CLUSTER_SPEC | {
        "observed": {"type": "dict", "default": {}},
        "plan": {"type": "dict", "default": {}},
        "written": {"type": "dict", "default": {}},
        "deleted": {"type": "dict", "default": {}},
        "failure": {"type": "str", "default": ""},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Assess the outcome and tell the user; of what is being deleted, nothing is told."""
        resource, dry = arguments["resource"], self._task.check_mode
        if resource["metadata"].get("deletionTimestamp"):
            return {"changed": False, "status": {}, "error": arguments["failure"], "period": ""}
        outcome = make_outcome(
            *(arguments[key] for key in ("plan", "written", "deleted", "failure")), dry=dry
        )
        client = self.connect(arguments)
        said = report(client, resource, arguments["observed"], outcome, dry=dry)
        return {
            "changed": said.changed,
            "status": said.status,
            "error": said.error,
            "period": said.period,
        }
