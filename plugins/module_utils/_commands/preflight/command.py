# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Checks whether custom resources can run in a cluster."""

from __future__ import annotations

import json
import typing as t

from ..command import CONNECTION_SPEC, RESOURCES_SPEC, ResourcesCommand
from ..loader import custom_resources
from .check import is_runnable
from .evaluate import evaluate
from .facts import ClusterFacts
from .preflight_text import summarize, write_checks
from .reading import read_facts, read_rendered


class PreflightCommand(ResourcesCommand):
    """Compares resources with the cluster; writes nothing."""

    spec = (
        RESOURCES_SPEC
        | CONNECTION_SPEC
        | {"output": {"type": "str", "choices": ["text", "json"], "default": "text"}}
    )

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print the checks; an error makes `runnable` false, but the command does not fail."""
        texts, client = self.require_texts(arguments), self.connect(arguments)
        resources = custom_resources(texts, arguments["namespace"] or client.namespace)
        facts = ClusterFacts()
        rendered = read_rendered(client, resources, facts, self.find_filters())
        read_facts(client, rendered, facts)
        found = evaluate(rendered, facts)
        checks = [check.to_dict() for check in found]
        data = {"checks": checks, "runnable": is_runnable(found)}
        if arguments["output"] == "json":
            self.print_data(json.dumps(data, indent=2))
        else:
            self.print_data(write_checks(checks))
        return {"changed": False, **data, "msg": summarize(checks)}
