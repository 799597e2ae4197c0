# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Renders the objects of custom resources without a cluster."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from ..._cluster.facts import Facts
from ..._kinds import assumed_objects
from ..command import RESOURCES_SPEC, ResourcesCommand
from ..files import read_objects
from ..gpu.assumed_nodes import (
    assumed_nodes,
    describe_assumed,
)
from ..loader import (
    custom_resources,
    stored,
)
from ..plan.diff import (
    publish,
    to_yaml,
)
from ..text import name_of
from .simulation import (
    simulate,
)

_CLUSTER = "_cluster"
"""The folder of cluster-scoped objects; no namespace can have this name."""


class RenderCommand(ResourcesCommand):
    """Prints objects or writes files; contacts no cluster."""

    spec = RESOURCES_SPEC | {
        "facts": {"type": "list", "elements": "path", "default": []},
        "native_images": {"type": "list", "elements": "str", "default": []},
        "output": {"type": "str", "choices": ["yaml", "json"], "default": "yaml"},
        "output_dir": {"type": "path"},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Render everything, then fail if a resource cannot be served."""
        texts = self.require_texts(arguments)
        namespace = arguments["namespace"] or "default"
        given = custom_resources(texts, namespace)
        known = read_objects(arguments["facts"])
        nodes = assumed_nodes(given, known)
        facts = Facts([*known, *nodes], arguments["native_images"], assumed_objects(), namespace)
        simulated = simulate(map(stored, given), facts.ask, self.find_filters())
        objects = [publish(wanted.child.manifest) for wanted in simulated.wanted.values()]
        changed = self._write(objects, arguments)
        if nodes:
            self.print_message(describe_assumed(nodes))
        for key, found in [*simulated.notes.items(), *simulated.problems.items()]:
            for text in found:
                self.print_message(f"{name_of(key)}: {text}")
        if simulated.notes and not arguments["facts"]:
            self.print_message("pass facts to describe the cluster: see docs/user/verbs.md")
        if simulated.problems:
            failing = ", ".join(name_of(key) for key in simulated.problems)
            return {"failed": True, "msg": f"cannot be served as it is: {failing} (see above)"}
        return {"changed": changed, "count": len(objects)}

    def _write(self, objects: list[dict[str, t.Any]], arguments: dict[str, t.Any]) -> bool:
        """Write to stdout, or one file per object; returns whether a file changed."""
        if not arguments["output_dir"]:
            if arguments["output"] == "json":
                listed = {"apiVersion": "v1", "kind": "List", "items": objects}
                self.print_data(json.dumps(listed, indent=2))
            else:
                self.print_data("".join(f"---\n{to_yaml(item)}" for item in objects))
            return False
        folder = Path(arguments["output_dir"])
        stale = {}
        for item in objects:
            metadata = item["metadata"]
            name = f"{item['kind'].lower()}-{metadata['name']}.{arguments['output']}"
            file = folder / metadata.get("namespace", _CLUSTER) / name
            is_json = arguments["output"] == "json"
            text = f"{json.dumps(item, indent=2)}\n" if is_json else to_yaml(item)
            if not file.is_file() or file.read_text() != text:
                stale[file] = text
        if not self.is_dry:
            for file, text in stale.items():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
                self.print_message(f"wrote {file}")
        return bool(stale)
