# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Tasks of an administrator that run once a custom resource is Ready."""

from __future__ import annotations

from .._base.types import Fields, Json
from .metadata import is_deleted
from .pause import is_paused

MARK = "nimops.nim/ready-tasks"
"""Annotation with the generation of the custom resource for which the tasks succeeded."""


def mark_of(resource: Fields, status: Fields) -> Json:
    """The merge patch that marks the tasks as done; empty while they are not due."""
    metadata = resource["metadata"]
    generation = str(metadata.get("generation") or "")
    is_marked = (metadata.get("annotations") or {}).get(MARK) == generation
    is_inactive = is_deleted(resource) or is_paused(resource)
    if status.get("state") != "Ready" or is_marked or is_inactive:
        return {}
    named = {key: metadata[key] for key in ("name", "namespace") if metadata.get(key)}
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "metadata": {**named, "annotations": {MARK: generation}},
    }
