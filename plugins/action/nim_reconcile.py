# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs one pass over a custom resource; documented in plugins/modules/nim_reconcile.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.plugin_utils._reconcile import ReconcileAction


class ActionModule(ReconcileAction):
    """Observes, plans, writes and reports."""

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run one pass and return the new status and the requeue period."""
        done = self.reconcile(arguments)
        return {**done.result, "status": done.report.status, "period": done.report.period}
