# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The images that a cluster pulls, for mirrors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from .manifests import LOADER, Project, manager_of

_GOLDEN, _SAMPLES = "tests/golden/samples", "config/samples"

WAIT_IMAGE = "busybox"
"""The only image that the operator adds: that of containers which wait for a database."""


def operator_images(project: Project) -> list[str]:
    """Return the images of config/default."""
    return sorted(set(find_images(manager_of(project.build("default")))))


def rendered_images(project: Project) -> set[str]:
    """Return the images of all objects that the samples become."""
    return {image for item in _load(project, _GOLDEN) for image in find_images(item)}


def sample_images(project: Project) -> set[str]:
    """Return the images that the samples name, also those of jobs that services start."""
    return {image for item in _load(project, _SAMPLES) for image in named_images(item)}


def _load(project: Project, folder: str) -> Iterator[Any]:
    for file in sorted((project.root / folder).rglob("*.yaml")):
        yield from yaml.load_all(file.read_text(), LOADER)


def named_images(item: Any) -> Iterator[str]:
    """Yield the images that a custom resource names, each as one text or in parts."""
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
    """Return the list, one image a line."""
    own = "\n".join(operator_images(project))
    named = "\n".join(sorted(sample_images(project) - {WAIT_IMAGE}))
    return (
        "# Images for a mirror. The operator runs:\n"
        f"{own}\n"
        "# It adds one, for pods that wait for a database; NIMOPS_WAIT_IMAGE names another:\n"
        f"{WAIT_IMAGE}\n"
        "# Other images are those that custom resources name. In config/samples:\n"
        f"{named}\n"
    )
