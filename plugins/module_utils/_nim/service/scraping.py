# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ServiceMonitor of a NIMService."""

from __future__ import annotations

from ..._base.types import Manifest
from ..._builders.service_monitor import build_service_monitor
from .app import NIMServiceApp

_PATHS = {"api": "/v1/metrics", "metrics": "/metrics"}


def build_scraping(app: NIMServiceApp) -> Manifest:
    """Build the ServiceMonitor for the model's metrics, and Triton's if it has a port."""
    paths = {port: _PATHS[port] for port in app.spec.expose.ports if port in _PATHS}
    return build_service_monitor(app, paths, app.spec.service_monitor or {})
