# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the images that a cluster pulls for custom resources, for mirrors."""

from __future__ import annotations

import typing as t

from ..._base.types import Manifest
from ..._gpu.images import IMAGES, with_os
from ..._nim.cache.source import ARTIFACT

BUILT_FOR_SYSTEMS = ("DRIVER_IMAGE", "GDRCOPY_IMAGE", "GDS_IMAGE")
"""Components of the GPU stack with one image per operating system."""

WORKLOADS = ("CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet")
"""Kinds of Kubernetes that start pods, such as that of the operator."""

Images = dict[str, list[str]]
"""Image → the objects or variables that name it."""

_VARIABLE = "_IMAGE"


def stack_images(systems: t.Sequence[str]) -> Images:
    """The default images of the GPU stack, for a policy that specifies none."""
    found: Images = {}
    for variable, image in sorted(IMAGES.items()):
        is_built = variable in BUILT_FOR_SYSTEMS
        for name in [with_os(image, system) for system in systems] if is_built else [image]:
            found.setdefault(name, []).append(variable)
    return dict(sorted(found.items()))


def images_of(objects: t.Iterable[Manifest]) -> Images:
    """The images of all containers in these objects, and of pods that the objects start."""
    found: dict[str, set[str]] = {}
    for item in objects:
        for image in _find_images(item):
            found.setdefault(image, set()).add(f"{item['kind']} {item['metadata']['name']}")
    return {image: sorted(users) for image, users in sorted(found.items())}


def workload_images(objects: t.Iterable[Manifest]) -> Images:
    """The images of the workloads among these objects, and those that their variables name.

    The operator has variables such as NIMOPS_WAIT_IMAGE.
    """
    found: dict[str, set[str]] = {}
    for item in objects:
        if item.get("kind") not in WORKLOADS:
            continue
        for image in [*_find_images(item.get("spec")), *_find_variables(item.get("spec"))]:
            found.setdefault(image, set()).add(f"{item['kind']} {item['metadata']['name']}")
    return {image: sorted(users) for image, users in sorted(found.items())}


def named_images(resource: Manifest) -> t.Iterator[str]:
    """The images in the spec of a custom resource that are split into parts, also of jobs."""
    yield from _find_named(resource.get("spec"))


def is_pulled_by_operator(resource: Manifest) -> bool:
    """Whether the image of the operator downloads the model of a NIMCache."""
    annotations = resource["metadata"].get("annotations") or {}
    return resource["kind"] == "NIMCache" and bool(annotations.get(ARTIFACT))


def _find_images(item: t.Any) -> t.Iterator[str]:
    if isinstance(item, list):
        for child in item:
            yield from _find_images(child)
    elif isinstance(item, dict):
        if isinstance(item.get("image"), str):
            yield item["image"]
        for child in item.values():
            yield from _find_images(child)


def _find_variables(item: t.Any) -> t.Iterator[str]:
    """The values of environment variables that name an image."""
    if isinstance(item, list):
        for child in item:
            yield from _find_variables(child)
    elif isinstance(item, dict):
        name, value = item.get("name"), item.get("value")
        if isinstance(name, str) and name.endswith(_VARIABLE) and isinstance(value, str) and value:
            yield value
        for child in item.values():
            yield from _find_variables(child)


def _find_named(item: t.Any) -> t.Iterator[str]:
    if isinstance(item, list):
        for child in item:
            yield from _find_named(child)
    elif isinstance(item, dict):
        if isinstance(item.get("repository"), str) and isinstance(item.get("tag"), str):
            yield f"{item['repository']}:{item['tag']}"
        for key, child in item.items():
            if key == "modelPuller" and isinstance(child, str):
                yield child
            elif key == "evaluationImages" and isinstance(child, dict):
                yield from (image for image in child.values() if isinstance(image, str))
            else:
                yield from _find_named(child)
