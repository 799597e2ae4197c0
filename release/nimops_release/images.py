# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The images that a cluster pulls, for mirrors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from .manifests import LOADER, Project, manager_of

_GOLDEN = "tests/golden/samples"


def operator_images(project: Project) -> list[str]:
    """Return the images of config/default."""
    return sorted(set(find_images(manager_of(project.build("default")))))


def sample_images(project: Project) -> list[str]:
    """Return the images of all objects that the samples become: those that the samples name."""
    return sorted(
        {
            image
            for file in sorted((project.root / _GOLDEN).rglob("*.yaml"))
            for item in yaml.load_all(file.read_text(), LOADER)
            for image in find_images(item)
        }
    )


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
    named = "\n".join(sample_images(project))
    return (
        "# Images for a mirror. The operator runs:\n"
        f"{own}\n"
        "# It adds no others: pods run what custom resources name. Those of config/samples:\n"
        f"{named}\n"
    )
