# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/reporter.py`; documented in plugins/modules/report.py."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.plain import to_plain
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.outcome import make_outcome
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import report

ARGUMENT_SPEC: dict[str, t.Any] = {
    "resource": {"type": "dict", "required": True},
    "observed": {"type": "dict", "default": {}},
    "plan": {"type": "dict", "default": {}},
    "written": {"type": "dict", "default": {}},
    "deleted": {"type": "dict", "default": {}},
    "failure": {"type": "str", "default": ""},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
}


class ActionModule(ActionBase):
    """Writes status, events and wake-ups; in check mode it only says what would change."""

    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        """Assess the outcome and tell the user."""
        result = super().run(tmp, task_vars)
        _valid, given = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        args = to_plain(given)
        resource, dry = args["resource"], self._task.check_mode
        if resource["metadata"].get("deletionTimestamp"):
            return result | {"changed": False, "status": {}, "error": args["failure"], "period": ""}
        outcome = make_outcome(
            args["plan"], args["written"], args["deleted"], args["failure"], dry=dry
        )
        try:
            client = Client(args["kubeconfig"], args["context"])
            said = report(client, resource, args["observed"], outcome, dry=dry)
        except (ApiError, NimError) as error:
            return result | {"failed": True, "msg": str(error)}
        return result | {
            "changed": said.changed,
            "status": said.status,
            "error": said.error,
            "period": said.period,
        }
