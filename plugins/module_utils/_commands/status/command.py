# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists custom resources with their state."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

from ..._cluster.client import Client
from ..command import CONNECTION_SPEC, Command
from ..plan.preview import (
    list_children,
    list_resources,
)
from .status_table import (
    WORKLOADS,
    Line,
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
        lines = read_lines(client, namespace)
        if arguments["output"] == "json":
            self.print_data(json.dumps([line.to_dict() for line in lines], indent=2))
        elif lines:
            self.print_data(write_lines(lines))
        else:
            self.print_message(f"no custom resources in {namespace or 'the cluster'}")
        return {"changed": False, "resources": [line.to_dict() for line in lines]}


def read_lines(client: Client, namespace: str, selector: str = "") -> list[Line]:
    """The rows of a namespace, or of all if it is empty. ``selector``: of labels."""
    resources = list_resources(client, namespace, selector)
    workloads = list_children(client, WORKLOADS, namespace)
    return list_status(resources, workloads, datetime.now(UTC))
