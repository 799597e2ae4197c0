# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The GPU stack of each node."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

from ..command import CONNECTION_SPEC, Command
from .gpu_text import write_status
from .node_status import READY, find_stack_problems
from .reading import read_policies, read_simulation, read_statuses


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
        found = read_statuses(client, policies, simulation, arguments["max_logs"])
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
