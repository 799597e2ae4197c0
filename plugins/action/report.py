# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/reporter.py`; documented in plugins/modules/report.py."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.nimops.nim.plugins.module_utils._common.desired import (
    Outcome,
    Refusal,
    key_of,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import report

ARGUMENT_SPEC: dict[str, t.Any] = {
    "resource": {"type": "dict", "required": True},
    "observed": {"type": "dict", "default": {}},
    "plan": {"type": "dict", "default": {}},
    "written": {"type": "dict", "default": {}},
    "failure": {"type": "str", "default": ""},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
}


def make_outcome(
    plan: dict[str, t.Any], written: dict[str, t.Any], failure: str, *, dry: bool
) -> Outcome:
    """What came of a plan, from the result of `kubernetes.core.k8s` that applied it."""
    refusals = [Refusal(**item) for item in plan.get("refusals", [])]
    applied = {}
    for want, result in zip(plan.get("apply", []), _results(written), strict=False):
        if error := result.get("error"):
            kind, name = want["kind"], want["metadata"]["name"]
            refusals.append(Refusal(kind, name, _message(error)))
        elif not dry and result.get("result"):
            applied[key_of(want)] = result["result"]
    return Outcome(
        written=applied,
        deleted=[] if dry else [key_of(item) for item in plan.get("prune", [])],
        refusals=refusals,
        failure=failure or plan.get("failure", ""),
        failure_reason=("" if failure else plan.get("failure_reason", "")) or "Failed",
    )


def _results(written: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """One result an object: the module folds a list of one."""
    below = written.get("result") or {}
    if "results" in below and "kind" not in below:
        return list(below["results"])
    return [written] if "result" in written or "error" in written else []


def _message(error: dict[str, t.Any]) -> str:
    """The API server's own words, out of the module's."""
    return str(error.get("msg") or error)


class ActionModule(ActionBase):
    """Writes status, events and wake-ups; in check mode it only says what would change."""

    _requires_connection = False

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        """Assess the outcome and tell the user."""
        result = super().run(tmp, task_vars)
        _valid, args = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        resource, dry = args["resource"], self._task.check_mode
        if resource["metadata"].get("deletionTimestamp"):
            return result | {"changed": False, "status": {}, "error": args["failure"], "period": ""}
        outcome = make_outcome(args["plan"], args["written"], args["failure"], dry=dry)
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
