# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The reads of a NIMPipeline reconcile."""

from __future__ import annotations

from ..._engine.reads import Read, ReadObject, ReadObjects
from .app import NIMPipelineApp
from .desired import leftovers
from .entries import SERVICE, served_entries
from .scaling import replica_reads


def reads(app: NIMPipelineApp) -> list[Read]:
    """The entries' services, all services of the namespace, to find leftovers, and autoscalers."""
    namespace = app.namespace
    names = [*served_entries(app), *leftovers(app)]
    return [
        ReadObjects(SERVICE, namespace),
        *(ReadObject(SERVICE, namespace, name) for name in names),
        *replica_reads(app),
    ]
