# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Tells the operator when to reconcile again; documented in plugins/modules/requeue_after.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.plugin_utils._action import Action


class ActionModule(Action):
    """The runtime reads `period` from this task's event, and ends the reconcile at once."""

    spec: t.ClassVar[dict[str, t.Any]] = {
        "period": {"type": "str", "default": ""},
        "error": {"type": "str", "default": ""},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the period, or fail."""
        if arguments["error"]:
            raise NimError(arguments["error"])
        if not arguments["period"]:
            raise NimError("period: missing; set a Go duration such as 5s, or an error")
        return {"changed": False, "period": arguments["period"]}
