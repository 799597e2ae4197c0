# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPU stack of each node; documented in plugins/modules/gpu_status_info.py."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.gpu_text import write_status
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.node_status import (
    READY,
    Sight,
    logs_to_read,
    overall_faults,
    status_of_nodes,
    with_logs,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.reading import (
    operand_namespaces,
    read_daemon_sets,
    read_log,
    read_policies,
    read_upgrades,
    read_warnings,
    read_world,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import (
    take_step,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.step import (
    Step,
)
from ansible_collections.nimops.nim.plugins.plugin_utils._command import (
    CONNECTION_SPEC,
    CommandAction,
)


class ActionModule(CommandAction):
    """Reads; writes nothing."""

    spec = CONNECTION_SPEC | {
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
        "max_logs": {"type": "int", "default": 20},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print a table and what to do, or JSON."""
        client = self.connect(arguments)
        policies, world = read_policies(client), read_world(client)
        upgrades = read_upgrades(client, policies[0]).policies if policies else {}
        steps = [take_step(world.scene(owner), policy) for owner, policy in upgrades.items()]
        namespaces = operand_namespaces(policies, world.pods)
        sight = Sight(
            world.nodes,
            world.pods,
            read_daemon_sets(client, namespaces),
            read_warnings(client, namespaces),
            Step(tuple(item for step in steps for item in step.nodes)),
        )
        found = status_of_nodes(sight)
        logs = logs_to_read(found, max(arguments["max_logs"], 0))
        found = with_logs(found, {log: read_log(client, log) for log in logs})
        faults = overall_faults(policies, world.nodes)
        data = {"faults": faults, "nodes": [item.to_dict() for item in found]}
        if arguments["output"] == "json":
            self.put(json.dumps(data, indent=2))
        else:
            self.put(write_status(found, faults, datetime.now(UTC)))
        return {
            "changed": False,
            **data,
            "ready": not faults and all(item.state == READY for item in found),
        }
