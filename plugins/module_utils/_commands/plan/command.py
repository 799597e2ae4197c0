# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Plans the changes of applying custom resources."""

from __future__ import annotations

import json
import typing as t

from ..command import CONNECTION_SPEC, RESOURCES_SPEC, ResourcesCommand
from ..loader import custom_resources
from ..text import (
    name_of,
    summarize,
    write_plan,
)
from .preview import (
    Preview,
    list_readable,
    preview,
)


class PlanCommand(ResourcesCommand):
    """Compares with the cluster; writes nothing."""

    spec = (
        RESOURCES_SPEC
        | CONNECTION_SPEC
        | {"output": {"type": "str", "choices": ["text", "json"], "default": "text"}}
    )

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print the plan; fail only if a resource cannot be served."""
        client, texts = self.connect(arguments), self.find_texts(arguments)
        if texts:
            resources = custom_resources(texts, arguments["namespace"] or client.namespace)
        else:
            resources = list_readable(client, arguments["namespace"] or "", self.print_message)
        found = preview(client, resources, self.find_filters(), is_given=bool(texts))
        if arguments["output"] == "json":
            self.print_data(json.dumps(to_dict(found), indent=2))
        else:
            self.print_data(write_plan(found.changes, found.simulated))
        result = {
            "changed": bool(found.changes),
            "changes": [change.to_dict() for change in found.changes],
            "msg": summarize(found.changes),
        }
        if found.simulated.problems:
            failing = ", ".join(name_of(key) for key in found.simulated.problems)
            return result | {"failed": True, "msg": f"cannot be served as it is: {failing}"}
        return result


def to_dict(found: Preview) -> dict[str, t.Any]:
    """The plan as data."""
    return {
        "changes": [change.to_dict() for change in found.changes],
        "problems": {name_of(key): texts for key, texts in found.simulated.problems.items()},
        "notes": {name_of(key): texts for key, texts in found.simulated.notes.items()},
        "summary": summarize(found.changes),
    }
