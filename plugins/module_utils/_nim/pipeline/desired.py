# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children of a NIMPipeline: one NIMService per enabled entry."""

from __future__ import annotations

from ..._engine.desired import Child, Desired
from .app import NIMPipelineApp
from .entries import SERVICE, find_service_excess, served_entries
from .nim_service import build_nim_service


def desired(app: NIMPipelineApp) -> Desired:
    """A NIMService for each entry that can be served, and the leftovers to delete.

    A NIMService that is too large to read is left unchanged.
    """
    children = [
        Child(build_nim_service(app, entry))
        for name, entry in served_entries(app).items()
        if not find_service_excess(app, name)
    ]
    unwanted = [(SERVICE, name) for name in leftovers(app)]
    return Desired(children, unwanted, are_independent=True)


def leftovers(app: NIMPipelineApp) -> list[str]:
    """Names of the NIMServices that the pipeline controls and no entry requests."""
    wanted = served_entries(app)
    return [
        live["metadata"]["name"]
        for live in app.listed(SERVICE) or []
        if app.controls(live) and live["metadata"]["name"] not in wanted
    ]
