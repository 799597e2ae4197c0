# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists custom resources with their state."""

from __future__ import annotations

import json
import typing as t
from datetime import UTC, datetime

from ..._base.errors import ApiError
from ..._base.types import Json
from ..._cluster.client import Client
from ..command import CONNECTION_SPEC, Command
from ..plan.preview import list_children, list_readable
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
        lines = read_lines(client, namespace, self.print_message)
        if arguments["output"] == "json":
            self.print_data(json.dumps([line.to_dict() for line in lines], indent=2))
        elif lines:
            self.print_data(write_lines(lines))
        else:
            self.print_message(f"no custom resources in {namespace or 'the cluster'}")
        return {"changed": False, "resources": [line.to_dict() for line in lines]}


def read_lines(
    client: Client,
    namespace: str,
    notify: t.Callable[[str], None],
    selector: str = "",
    kinds: t.Collection[str] = (),
) -> list[Line]:
    """The rows of a namespace, or of all if it is empty; without what the user may not list.

    ``selector``: of labels. ``kinds``: by default all.
    """
    resources = list_readable(client, namespace, notify, selector, kinds)
    workloads = read_workloads(client, namespace, notify)
    return list_status(resources, workloads, datetime.now(UTC))


def read_workloads(client: Client, namespace: str, notify: t.Callable[[str], None]) -> list[Json]:
    """The workloads of a namespace, or of all if it is empty, that the user may list."""
    found: list[Json] = []
    denied = []
    for kind in WORKLOADS:
        try:
            found += list_children(client, [kind], namespace)
        except ApiError as error:
            if error.status != 403:
                raise
            denied.append(kind)
    if denied:
        notify(f"you may not list {', '.join(denied)}, so replicas and GPUs are not shown")
    return found
