# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The list of images for mirrors is complete: the operator adds none to what resources name."""

from __future__ import annotations

from pathlib import Path

import yaml
from nimops_release.images import find_images, sample_images
from nimops_release.manifests import Project

ROOT = Path(__file__).resolve().parents[3]


def named_images(item):
    """Images that a custom resource names, as one text or in parts."""
    if isinstance(item, list):
        for child in item:
            yield from named_images(child)
    elif isinstance(item, dict):
        if "repository" in item:
            yield f"{item['repository']}:{item.get('tag', 'latest')}"
        for key, child in item.items():
            if key == "modelPuller":
                yield child
            yield from named_images(child)


def test_find_images():
    pod = {"containers": [{"image": "a", "args": ["image"]}], "initContainers": [{"image": "b"}]}
    assert list(find_images([{"spec": {"template": pod}}, {"image": {"repository": "c"}}])) == [
        "a",
        "b",
    ]


def test_the_operator_renders_no_image_that_a_resource_does_not_name():
    named = {
        image
        for file in (ROOT / "config/samples").glob("*.yaml")
        for item in yaml.safe_load_all(file.read_text())
        for image in named_images(item)
    }
    rendered = sample_images(Project(ROOT))
    assert len(rendered) > 3
    assert set(rendered) <= named
