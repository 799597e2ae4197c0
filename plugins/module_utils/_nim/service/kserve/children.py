# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The children of a service that KServe runs."""

from __future__ import annotations

from ...._engine.desired import Child
from ..app import NIMServiceApp
from ..model_store import Store
from ..scraping import build_scraping
from .mode import deployment_mode, is_standard
from .predictor import build_inference_service


def kserve_children(app: NIMServiceApp, store: Store) -> list[Child]:
    """The InferenceService and its ServiceMonitor.

    NimError if its mode is unknown.
    """
    mode = deployment_mode(app)
    children = [Child(build_inference_service(app, store, mode))]
    if is_standard(mode) and app.spec.is_monitored:
        children.insert(0, Child(build_scraping(app)))
    return children


def unscraped(app: NIMServiceApp) -> list[tuple[str, str]]:
    """The ServiceMonitor, if it is unwanted."""
    return [] if app.spec.is_monitored else [("ServiceMonitor", app.name)]
