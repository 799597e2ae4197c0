# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources into a cluster, and there until Ready; documented in plugins/modules/apply.py."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._verbs.changes import Change, to_yaml
from ansible_collections.nimops.nim.plugins.module_utils._verbs.cluster import preview
from ansible_collections.nimops.nim.plugins.module_utils._verbs.rollout import (
    pass_over,
    roll_out,
    submit,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.text import (
    name_of,
    summarize,
    write_plan,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._verb import (
    CONNECTION_SPEC,
    FILES_SPEC,
    VerbAction,
    wanted_resources,
)

Json = dict[str, t.Any]


class ActionModule(VerbAction):
    """Writes; in check mode it only says what it would write."""

    spec = (
        FILES_SPEC
        | CONNECTION_SPEC
        | {
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 1800},
        }
    )

    def act(self, arguments: Json) -> Json:
        """Apply, reconcile, wait."""
        client = self.connect(arguments)
        resources = wanted_resources(client, arguments)
        if self._task.check_mode:
            return self._foresee(client, resources)
        rollout = submit(client, resources)
        try:
            if arguments["wait"]:
                roll_out(client, rollout, arguments["wait_timeout"], self.say)
            else:
                pass_over(client, rollout, self.say)
        except (ApiError, NimError) as error:
            return {"failed": True, "changed": bool(rollout.wrote), "msg": str(error)}
        states = {name_of(key): item.state for key, item in rollout.standings.items()}
        return {"changed": bool(rollout.wrote), "states": states}

    def _foresee(self, client: Client, resources: list[Json]) -> Json:
        found = preview(client, resources)
        result: Json = {"changed": bool(found.changes), "msg": summarize(found.changes)}
        if not self._task.diff:
            self.say(write_plan(found.changes, found.outlook))
            return result
        return result | {"diff": [to_diff(change) for change in found.changes]}


def to_diff(change: Change) -> Json:
    """A change as Ansible's diff mode has it."""
    name = name_of(change.key)
    return {
        "before": to_yaml(change.before),
        "after": to_yaml(change.after),
        "before_header": name,
        "after_header": f"{name} ({change.action})",
    }
