# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Applies custom resources and waits until they are Ready, or deletes them."""

from __future__ import annotations

import time

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._engine.api_resources import identity
from ..command import CONNECTION_SPEC, RESOURCES_SPEC, WAIT_SPEC, ResourcesCommand
from ..loader import custom_resources
from ..plan.diff import remove_resource
from ..plan.preview import preview
from ..resource.removal import find_live, remove
from ..text import (
    name_of,
    summarize,
    to_diff,
    write_changes,
    write_plan,
)
from .apply import (
    reconcile_once,
    submit,
    wait_until_ready,
)


class ApplyCommand(ResourcesCommand):
    """Writes to the cluster; in check mode it only returns the plan."""

    spec = (
        RESOURCES_SPEC
        | CONNECTION_SPEC
        | WAIT_SPEC
        | {"state": {"type": "str", "choices": ["present", "absent"], "default": "present"}}
    )

    def act(self, arguments: Json) -> Json:
        """Apply, reconcile and wait; or delete and wait."""
        client, texts = self.connect(arguments), self.require_texts(arguments)
        namespace, is_absent = arguments["namespace"], arguments["state"] == "absent"
        resources = custom_resources(texts, namespace or client.namespace, needs_spec=not is_absent)
        if is_absent:
            return self._delete(client, resources, arguments)
        if self.is_dry:
            return self._preview(client, resources)
        run = submit(client, resources, self.find_filters())
        try:
            if arguments["wait"]:
                wait_until_ready(client, run, arguments["wait_timeout"], self.print_message)
            else:
                reconcile_once(client, run, self.print_message)
        except (ApiError, NimError) as error:
            return {"failed": True, "changed": bool(run.wrote), "msg": str(error)}
        states = {name_of(key): item.state for key, item in run.progress.items()}
        return {"changed": bool(run.wrote), "states": states}

    def _delete(self, client: Client, resources: list[Json], arguments: Json) -> Json:
        """Delete those that exist, one after the other, the last one first."""
        found = find_live(client, resources)
        changes = [remove_resource(live) for live in found]
        result: Json = {"changed": bool(found), "msg": summarize(changes)}
        if self.wants_diff:
            result["diff"] = [to_diff(change) for change in changes]
        else:
            self.print_message(write_changes(changes))
        if self.is_dry:
            return result
        end = time.monotonic() + arguments["wait_timeout"]
        for live in found:
            left = max(end - time.monotonic(), 0) if arguments["wait"] else None
            try:
                remove(client, live, left, self.console)
            except (ApiError, NimError) as error:
                return {"failed": True, "changed": True, "msg": str(error)}
        return result | {"deleted": [name_of(identity(live)) for live in found]}

    def _preview(self, client: Client, resources: list[Json]) -> Json:
        found = preview(client, resources, self.find_filters())
        result: Json = {"changed": bool(found.changes), "msg": summarize(found.changes)}
        if not self.wants_diff:
            self.print_message(write_plan(found.changes, found.simulated))
            return result
        return result | {"diff": [to_diff(change) for change in found.changes]}
