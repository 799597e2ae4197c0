# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIMService of an entry."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._engine.api_resources import manifest
from ..._engine.metadata import owner_reference
from .app import NIMPipelineApp
from .entries import SERVICE
from .scaling import replica_annotations, service_spec_of
from .spec import Entry


def build_nim_service(app: NIMPipelineApp, entry: Entry) -> Manifest:
    """The NIMService with the given spec, without null values, and with its dependencies."""
    return manifest(
        SERVICE,
        entry.name,
        app.namespace,
        metadata={
            "ownerReferences": [owner_reference(app.resource)],
            "annotations": replica_annotations(app, entry),
        },
        spec=service_spec_of(app, entry),
    )
