# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""In-process door to `_k8s/reporter.py`; documented in plugins/modules/report.py."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import asdict

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import (
    PLAN,
    RESOURCE,
    unpack,
)
from ansible_collections.nimops.nim.plugins.module_utils._common.plain import to_plain
from ansible_collections.nimops.nim.plugins.module_utils._k8s.outcome import make_outcome
from ansible_collections.nimops.nim.plugins.module_utils._k8s.reporter import (
    NOTHING_TO_SAY,
    report,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.subject import find_subject
from ansible_collections.nimops.nim.plugins.plugin_utils._action import CLUSTER_SPEC, PlainAction


class ActionModule(PlainAction):
    """Writes status, events and wake-ups; in check mode it only says what would change."""

    spec = CLUSTER_SPEC | {
        "resource": {"type": "dict"},
        "observed": {"type": "raw", "default": {}},
        "plan": {"type": "dict", "default": {}},
        "written": {"type": "str", "default": ""},
        "deleted": {"type": "str", "default": ""},
        "failure": {"type": "str", "default": ""},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Assess the outcome and tell the user."""
        answers, dry = unpack(arguments["observed"]), self._task.check_mode
        given = arguments["resource"] or {}
        if "spec" not in given:
            given = answers.get(RESOURCE) or given
        if not given:
            raise NimError("resource: missing, and the parameter observed does not hold it either")
        client = self.connect(arguments)
        resource = find_subject(client, given, strict=False)
        if resource is None:
            return asdict(NOTHING_TO_SAY)
        failure = arguments["failure"]
        plan = arguments["plan"] or (not failure and answers.get(PLAN)) or {}
        written, deleted = (self._registered(arguments[name]) for name in ("written", "deleted"))
        outcome = make_outcome(plan, written, deleted, failure, dry=dry)
        return asdict(report(client, resource, answers, outcome, dry=dry))

    def _registered(self, name: str) -> dict[str, t.Any]:
        """The result that a task has registered under a name, {} if there is none."""
        result = self.variables.get(name, {})
        if not isinstance(result, Mapping):
            raise NimError(f"the variable {name} is not the result of a task")
        return t.cast("dict[str, t.Any]", to_plain(result))
