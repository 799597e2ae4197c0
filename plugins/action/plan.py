# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What applying custom resources would change in a cluster; documented in plugins/modules/plan.py."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._verbs.cluster import Preview, preview
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


class ActionModule(VerbAction):
    """Reads and compares; writes nothing."""

    spec = (
        FILES_SPEC
        | CONNECTION_SPEC
        | {
            "files": {"type": "list", "elements": "str", "default": []},
            "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
        }
    )

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print the plan, and fail if something would change."""
        client = self.connect(arguments)
        found = preview(
            client, wanted_resources(client, arguments), is_given=bool(arguments["files"])
        )
        if arguments["output"] == "json":
            self.put(json.dumps(to_dict(found), indent=2))
        else:
            self.put(write_plan(found.changes, found.outlook))
        result = {"changed": False, "changes": [change.to_dict() for change in found.changes]}
        if found.outlook.problems:
            failing = ", ".join(name_of(key) for key in found.outlook.problems)
            return result | {"unreachable": True, "msg": f"cannot be served as it is: {failing}"}
        if found.changes:
            return result | {"failed": True, "msg": summarize(found.changes)}
        return result


def to_dict(found: Preview) -> dict[str, t.Any]:
    """The plan as data."""
    return {
        "changes": [change.to_dict() for change in found.changes],
        "problems": {name_of(key): texts for key, texts in found.outlook.problems.items()},
        "notes": {name_of(key): texts for key, texts in found.outlook.notes.items()},
        "summary": summarize(found.changes),
    }
