# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Tells the operator when to reconcile again; documented in plugins/modules/requeue_after.py."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """The runtime reads `period` out of this task's event, and ends the reconcile at once."""

    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        """Return the period."""
        result = super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(
            argument_spec={"period": {"type": "str", "required": True}}
        )
        return result | {"changed": False, "period": args["period"]}
