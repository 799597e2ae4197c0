# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""NIMPipeline: several NIMServices in one resource, each of which can be disabled."""

from __future__ import annotations

from ..._engine.kind import Access, Kind
from .app import NIMPipelineApp
from .desired import desired
from .reads import reads
from .status import assess, refuse

KIND = Kind(
    name="NIMPipeline",
    plural="nimpipelines",
    short_names=("nimpl",),
    app=NIMPipelineApp,
    reads=reads,
    desired=desired,
    assess=assess,
    refuse=refuse,
    watches_annotations=True,
    access=(
        Access(
            "NIMService",
            "read list write delete",
            "the services, deleted when they are disabled",
        ),
        Access(
            "HorizontalPodAutoscaler",
            "list",
            "one that scales a service, where its replica count differs",
        ),
    ),
)
