# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Custom resources to the objects that they become, without a cluster.

Documented in plugins/modules/render.py.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ansible_collections.nimops.nim.plugins.module_utils._verbs.changes import (
    publish,
    to_yaml,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.documents import (
    custom_resources,
    stored,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.outlook import look_ahead
from ansible_collections.nimops.nim.plugins.module_utils._verbs.text import name_of
from ansible_collections.nimops.nim.plugins.module_utils._verbs.world import Facts
from ansible_collections.nimops.nim.plugins.plugin_utils._verb import (
    FILES_SPEC,
    VerbAction,
    read_objects,
    read_texts,
)


class ActionModule(VerbAction):
    """Prints or writes files; talks to no cluster."""

    spec = FILES_SPEC | {
        "facts": {"type": "list", "elements": "path", "default": []},
        "native_images": {"type": "list", "elements": "str", "default": []},
        "output": {"type": "str", "choices": ["yaml", "json"], "default": "yaml"},
        "output_dir": {"type": "path"},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Render all, then fail if one of them cannot be served."""
        texts = read_texts(arguments["files"])
        given = custom_resources(texts, arguments["namespace"] or "default")
        facts = Facts(read_objects(arguments["facts"]), arguments["native_images"])
        outlook = look_ahead(map(stored, given), facts.ask)
        objects = [publish(wanted.child.manifest) for wanted in outlook.wanted.values()]
        changed = self._write(objects, arguments)
        for key, found in [*outlook.notes.items(), *outlook.problems.items()]:
            for text in found:
                self.say(f"{name_of(key)}: {text}")
        if outlook.problems:
            failing = ", ".join(name_of(key) for key in outlook.problems)
            return {"failed": True, "msg": f"cannot be served as it is: {failing} (see above)"}
        return {"changed": changed, "count": len(objects)}

    def _write(self, objects: list[dict[str, t.Any]], arguments: dict[str, t.Any]) -> bool:
        """To stdout, or a file for each object; whether a file changed."""
        if not arguments["output_dir"]:
            if arguments["output"] == "json":
                listed = {"apiVersion": "v1", "kind": "List", "items": objects}
                self.put(json.dumps(listed, indent=2))
            else:
                self.put("".join(f"---\n{to_yaml(item)}" for item in objects))
            return False
        folder = Path(arguments["output_dir"])
        stale = {}
        for item in objects:
            metadata = item["metadata"]
            name = f"{item['kind'].lower()}-{metadata['name']}.{arguments['output']}"
            file = folder / metadata["namespace"] / name
            is_json = arguments["output"] == "json"
            text = f"{json.dumps(item, indent=2)}\n" if is_json else to_yaml(item)
            if not file.is_file() or file.read_text() != text:
                stale[file] = text
        if not self._task.check_mode:
            for file, text in stale.items():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
                self.say(f"wrote {file}")
        return bool(stale)
