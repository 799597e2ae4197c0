# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A pass, under the name that the runtime knows; documented in plugins/modules/requeue_after.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._engine.runtime_annotations import (
    PERIOD,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.steps import is_deleted
from ansible_collections.nimops.nim.plugins.module_utils._kinds import kind_of
from ansible_collections.nimops.nim.plugins.plugin_utils._reconcile import Done, ReconcileAction

_NEVER = "0s"
_FOR_FINALIZER = "1s"


class ActionModule(ReconcileAction):
    """The runtime reads `period` from this task's event, and ends the reconcile at once."""

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Do the pass, and say when to come again; there is always a period, unless it failed."""
        done = self.reconcile(arguments)
        return {**done.result, "period": period_of(done)}


def period_of(done: Done) -> str:
    """When the runtime is to come again; without this task, it would know by itself."""
    if done.resource is None:
        return _NEVER
    if is_deleted(done.resource):
        return _FOR_FINALIZER
    annotations = done.resource["metadata"].get("annotations") or {}
    return done.report.period or annotations.get(PERIOD) or kind_of(done.resource).reconcile_period
