# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The images that a cluster pulls, for mirrors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import yaml

from .errors import ReleaseError
from .manifests import LOADER, Project, manager_of

_GOLDEN, _SAMPLES = "tests/golden/samples", "config/samples"

WAIT_IMAGE = "busybox"
"""The only image that the operator adds outside the GPU stack, for containers that wait for a
database."""

_STACK_GROUP = "nvidia.com/"
_ANY_SYSTEM = "<system>"
_STACK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from module_utils._commands.images.images import stack_images
json.dump([*stack_images(sys.argv[2:])], sys.stdout)
"""
"""Reads the released tree, regardless of the installed collection."""


def operator_images(project: Project) -> list[str]:
    """Return the images of config/default."""
    return sorted(set(find_images(manager_of(project.build("default")))))


def rendered_images(project: Project) -> set[str]:
    """Return the images of all objects rendered from the samples."""
    return {image for item in _load(project, _GOLDEN) for image in find_images(item)}


def sample_images(project: Project) -> set[str]:
    """Return the images that the samples name, including those of jobs that services start.

    The GPU stack is excluded: its samples use the images of `stack_images`.
    """
    return {
        image
        for item in _load(project, _SAMPLES)
        if item and not str(item.get("apiVersion")).startswith(_STACK_GROUP)
        for image in named_images(item)
    }


def stack_images(project: Project, system: str) -> list[str]:
    """Return the default images of the GPU stack, for nodes with this operating system."""
    command = [sys.executable, "-B", "-c", _STACK, str(project.root / "plugins"), system]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"the images of the GPU stack are unknown:\n{done.stderr.strip()}")
    return [str(image) for image in json.loads(done.stdout)]


def _load(project: Project, folder: str) -> Iterator[Any]:
    for file in sorted((project.root / folder).rglob("*.yaml")):
        yield from yaml.load_all(file.read_text(), LOADER)


def named_images(item: Any) -> Iterator[str]:
    """Yield the images in a custom resource, whether strings or split into parts."""
    if isinstance(item, list):
        for child in item:
            yield from named_images(child)
    elif isinstance(item, dict):
        if "repository" in item:
            yield f"{item['repository']}:{item.get('tag', 'latest')}"
        for key, child in item.items():
            if key in ("modelPuller", "image") and isinstance(child, str):
                yield child
            elif key == "evaluationImages":
                yield from child.values()
            else:
                yield from named_images(child)


def find_images(item: Any) -> Iterator[str]:
    """Yield the images of all containers inside an object."""
    if isinstance(item, list):
        for child in item:
            yield from find_images(child)
    elif isinstance(item, dict):
        if isinstance(item.get("image"), str):
            yield item["image"]
        for child in item.values():
            yield from find_images(child)


def images_text(project: Project) -> str:
    """Return the list, one image per line."""
    own = "\n".join(operator_images(project))
    named = "\n".join(sorted(sample_images(project) - {WAIT_IMAGE}))
    stack = stack_images(project, _ANY_SYSTEM)
    plain = "\n".join(image for image in stack if _ANY_SYSTEM not in image)
    built = "\n".join(f"# {image}" for image in stack if _ANY_SYSTEM in image)
    return (
        "# Images for a mirror. The operator runs:\n"
        f"{own}\n"
        "# It adds one for pods that wait for a database; to replace it, set NIMOPS_WAIT_IMAGE:\n"
        f"{WAIT_IMAGE}\n"
        "# Default images of the GPU stack, unless a ClusterPolicy or the operator names others:\n"
        f"{plain}\n"
        "# and these, one for each operating system of its nodes, such as ubuntu24.04; the\n"
        "# playbook nimops.nim.images lists those of your systems:\n"
        f"{built}\n"
        "# Custom resources name all other images. In config/samples:\n"
        f"{named}\n"
    )
