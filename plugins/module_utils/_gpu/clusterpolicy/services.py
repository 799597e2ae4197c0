# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Builds Services of the stack and their ServiceMonitors."""

from __future__ import annotations

from ..._base.types import Manifest
from .app import PolicyApp
from .spec import Monitor


def build_stack_monitor(
    app: PolicyApp, name: str, port: str, job_label: str, given: Monitor
) -> Manifest:
    """Build the ServiceMonitor of the Service with this name; ``given``: the user's settings."""
    return app.child(
        "ServiceMonitor",
        {
            "endpoints": [{"path": "/metrics", "port": port, **given.endpoint}],
            "jobLabel": job_label,
            "namespaceSelector": {"matchNames": [app.namespace]},
            "selector": {"matchLabels": {"app": name}},
        },
        name=name,
        labels={"app": name, **given.labels},
    )


def build_stack_service(
    app: PolicyApp, name: str, port: str, number: int, *, is_scraped: bool = True
) -> Manifest:
    """Build the Service of the pods with this name."""
    return app.child(
        "Service",
        {
            "type": "ClusterIP",
            "selector": {"app": name},
            "ports": [{"name": port, "port": number, "targetPort": number, "protocol": "TCP"}],
        },
        name=name,
        labels={"app": name},
        annotations={"prometheus.io/scrape": "true"} if is_scraped else {},
    )
