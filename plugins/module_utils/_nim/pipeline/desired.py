# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The NIMServices that a NIMPipeline wants, and those that it no longer wants."""

from __future__ import annotations

from ..._engine.desired import Child, Desired
from .app import NIMPipelineApp
from .entries import SERVICE, find_service_excess, served_entries
from .nim_service import build_nim_service


def desired(app: NIMPipelineApp) -> Desired:
    """A NIMService for each entry to serve; none if the pipeline is being deleted.

    One that has become too large is left alone: what it is like cannot be seen.
    """
    children = [
        Child(build_nim_service(app, entry))
        for name, entry in served_entries(app).items()
        if not find_service_excess(app, name)
    ]
    unwanted = [(SERVICE, name) for name in leftovers(app)]
    return Desired(children, unwanted, are_independent=True)


def leftovers(app: NIMPipelineApp) -> list[str]:
    """Names of the NIMServices that the pipeline controls and no entry requests any more."""
    wanted = served_entries(app)
    return [
        live["metadata"]["name"]
        for live in app.listed(SERVICE) or []
        if app.controls(live) and live["metadata"]["name"] not in wanted
    ]
