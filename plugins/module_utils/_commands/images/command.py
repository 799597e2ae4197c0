# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The images that a cluster pulls, for mirrors."""

from __future__ import annotations

import json
import typing as t

from ..._cluster.facts import Facts
from ..._cluster.settings import read_settings
from ..._engine.api_resources import SERVED_GROUPS
from ..._kinds import assumed_objects
from ..command import RESOURCES_SPEC, ResourcesCommand
from ..files import read_objects
from ..gpu.assumed_nodes import (
    SYSTEM,
    assumed_nodes,
    check_system,
)
from ..loader import (
    Text,
    custom_resources,
    parse,
    stored,
)
from ..render.simulation import (
    simulate,
)
from ..text import name_of
from .images import (
    Images,
    images_of,
    is_pulled_by_operator,
    named_images,
    stack_images,
    workload_images,
)

_NAMESPACE = "default"


class ImagesCommand(ResourcesCommand):
    """Lists images; contacts no cluster and no registry."""

    spec = RESOURCES_SPEC | {
        "facts": {"type": "list", "elements": "path", "default": []},
        "systems": {"type": "list", "elements": "str", "default": [SYSTEM]},
        "kernels": {"type": "list", "elements": "str", "default": []},
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
    }

    def act(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Print one image per line, or JSON."""
        found, problems = self.find_images(self.find_texts(arguments), arguments)
        images = [{"image": image, "users": users} for image, users in found.items()]
        if arguments["output"] == "json":
            self.print_data(json.dumps(images, indent=2))
        else:
            self.print_data("\n".join(found))
        if problems:
            return {"failed": True, "msg": f"cannot be served as it is: {'; '.join(problems)}"}
        return {"changed": False, "images": images}

    def find_images(
        self, texts: list[Text], arguments: dict[str, t.Any]
    ) -> tuple[Images, list[str]]:
        """The images, and why a resource cannot be served; without texts those of the GPU stack."""
        problems: list[str] = []
        for system in arguments["systems"]:
            check_system(system)
        if not texts:
            return stack_images(arguments["systems"]), problems
        objects = [item for text in texts for item in parse(text)]
        found = workload_images(objects)
        if not found or any(_is_ours(item) for item in objects):
            given = custom_resources(texts, arguments["namespace"] or _NAMESPACE)
            for image, users in self._list(given, arguments, problems).items():
                found[image] = sorted({*found.get(image, ()), *users})
        return dict(sorted(found.items())), problems

    def _list(
        self, given: list[dict[str, t.Any]], arguments: dict[str, t.Any], problems: list[str]
    ) -> Images:
        """The images of these resources, on nodes of each operating system."""
        found: dict[str, set[str]] = {}
        facts = read_objects(arguments["facts"])
        for system in arguments["systems"]:
            known = Facts(
                [*assumed_nodes(given, facts, system, arguments["kernels"]), *facts],
                assumed=assumed_objects(),
                namespace=arguments["namespace"] or _NAMESPACE,
            )
            simulated = simulate(map(stored, given), known.ask, self.find_filters())
            objects = (wanted.child.manifest for wanted in simulated.wanted.values())
            for image, users in images_of(objects).items():
                found.setdefault(image, set()).update(users)
            for key, texts in simulated.problems.items():
                problem = f"{name_of(key)}: {', '.join(texts)}"
                if problem not in problems:
                    problems.append(problem)
        for resource in given:
            user = f"{resource['kind']} {resource['metadata']['name']}"
            for image in named_images(resource):
                found.setdefault(image, {user})
            if is_pulled_by_operator(resource) and (image := read_settings()["puller_image"]):
                found.setdefault(image, {user})
        return {image: sorted(users) for image, users in sorted(found.items())}


def _is_ours(item: dict[str, t.Any]) -> bool:
    return item["apiVersion"].partition("/")[0] in SERVED_GROUPS
