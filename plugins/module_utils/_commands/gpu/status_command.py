# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPU stack of each node."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

from ..._gpu.upgrade.controller import (
    take_step,
)
from ..._gpu.upgrade.step import (
    Step,
)
from ..command import CONNECTION_SPEC, Command
from .gpu_text import write_status
from .node_status import (
    READY,
    StackView,
    find_stack_problems,
    logs_to_read,
    status_of_nodes,
    with_logs,
)
from .reading import (
    operand_namespaces,
    read_daemon_sets,
    read_log,
    read_policies,
    read_simulation,
    read_upgrades,
    read_warnings,
)


class GpuStatusCommand(Command):
    """Reads the state; writes nothing."""

    spec = CONNECTION_SPEC | {
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
        "max_logs": {"type": "int", "default": 20},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print a table with advice, or JSON."""
        client = self.connect(arguments)
        policies, simulation = read_policies(client), read_simulation(client)
        upgrades = read_upgrades(client, policies[0]).policies if policies else {}
        steps = [
            take_step(simulation.snapshot(owner), policy) for owner, policy in upgrades.items()
        ]
        namespaces = operand_namespaces(policies, simulation.pods)
        view = StackView(
            simulation.nodes,
            simulation.pods,
            read_daemon_sets(client, namespaces),
            read_warnings(client, namespaces),
            Step(tuple(item for step in steps for item in step.nodes)),
        )
        found = status_of_nodes(view)
        logs = logs_to_read(found, max(arguments["max_logs"], 0))
        found = with_logs(found, {log: read_log(client, log) for log in logs})
        faults = find_stack_problems(policies, simulation.nodes)
        data = {"faults": faults, "nodes": [item.to_dict() for item in found]}
        if arguments["output"] == "json":
            self.print_data(json.dumps(data, indent=2))
        else:
            self.print_data(write_status(found, faults, datetime.now(UTC)))
        return {
            "changed": False,
            **data,
            "ready": not faults and all(item.state == READY for item in found),
        }
