# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs one pass, under the name that the runtime expects; documented in plugins/modules/requeue_after.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.plugin_utils._reconcile import (
    ReconcileAction,
    period_of,
)


class ActionModule(ReconcileAction):
    """The runtime reads `period` from this task's event, and ends the reconcile at once."""

    spec = ReconcileAction.spec | {"resource": {"type": "dict"}, "period": {"type": "str"}}
    rules: t.ClassVar[dict[str, t.Any]] = {
        "mutually_exclusive": [("resource", "period")],
        "required_one_of": [("resource", "period")],
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run one pass and return the requeue period, which is always set unless the pass failed."""
        if arguments["resource"] is None:
            return {"changed": False, "period": arguments["period"]}
        done = self.reconcile(arguments)
        return {**done.result, "period": period_of(done)}
