# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Applies custom resources and waits until they are Ready.

Documented in plugins/modules/nim_apply.py.
"""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError, NimError
from ansible_collections.nimops.nim.plugins.module_utils._base.types import Json
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.apply.apply import (
    reconcile_once,
    submit,
    wait_until_ready,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.loader import custom_resources
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.diff import Change, to_yaml
from ansible_collections.nimops.nim.plugins.module_utils._commands.plan.preview import preview
from ansible_collections.nimops.nim.plugins.module_utils._commands.text import (
    name_of,
    summarize,
    write_plan,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._child_filters import child_filters
from ansible_collections.nimops.nim.plugins.plugin_utils._command import (
    CONNECTION_SPEC,
    RESOURCES_SPEC,
    ResourcesAction,
)


class ActionModule(ResourcesAction):
    """Writes to the cluster; in check mode it only returns the plan."""

    spec = (
        RESOURCES_SPEC
        | CONNECTION_SPEC
        | {
            "wait": {"type": "bool", "default": True},
            "wait_timeout": {"type": "int", "default": 1800},
        }
    )

    def act(self, arguments: Json) -> Json:
        """Apply, reconcile and wait."""
        client, texts = self.connect(arguments), self.require_texts(arguments)
        resources = custom_resources(texts, arguments["namespace"] or client.namespace)
        if self._task.check_mode:
            return self._preview(client, resources)
        run = submit(client, resources, child_filters())
        try:
            if arguments["wait"]:
                wait_until_ready(client, run, arguments["wait_timeout"], self.print_message)
            else:
                reconcile_once(client, run, self.print_message)
        except (ApiError, NimError) as error:
            return {"failed": True, "changed": bool(run.wrote), "msg": str(error)}
        states = {name_of(key): item.state for key, item in run.progress.items()}
        return {"changed": bool(run.wrote), "states": states}

    def _preview(self, client: Client, resources: list[Json]) -> Json:
        found = preview(client, resources, child_filters())
        result: Json = {"changed": bool(found.changes), "msg": summarize(found.changes)}
        if not self._task.diff:
            self.print_message(write_plan(found.changes, found.simulated))
            return result
        return result | {"diff": [to_diff(change) for change in found.changes]}


def to_diff(change: Change) -> Json:
    """A change in the format of Ansible's diff mode."""
    name = name_of(change.key)
    return {
        "before": to_yaml(change.before),
        "after": to_yaml(change.after),
        "before_header": name,
        "after_header": f"{name} ({change.action})",
    }
