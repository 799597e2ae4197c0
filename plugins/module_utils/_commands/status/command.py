# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists custom resources with their state."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

from ..command import CONNECTION_SPEC, Command
from ..plan.preview import (
    list_children,
    list_resources,
)
from .status_table import (
    WORKLOADS,
    list_status,
    write_lines,
)


class StatusCommand(Command):
    """Lists resources; writes nothing."""

    spec = CONNECTION_SPEC | {
        "namespace": {"type": "str", "default": ""},
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print a table, or JSON."""
        client, namespace = self.connect(arguments), arguments["namespace"]
        resources = list_resources(client, namespace)
        workloads = list_children(client, WORKLOADS, namespace)
        lines = list_status(resources, workloads, datetime.now(UTC))
        if arguments["output"] == "json":
            self.print_data(json.dumps([line.to_dict() for line in lines], indent=2))
        elif lines:
            self.print_data(write_lines(lines))
        else:
            self.print_message(f"no custom resources in {namespace or 'the cluster'}")
        return {"changed": False, "resources": [line.to_dict() for line in lines]}
