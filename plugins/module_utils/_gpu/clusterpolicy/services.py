# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Services of the stack, and their ServiceMonitors."""

from __future__ import annotations

from ..._base.types import Fields, Manifest
from .app import PolicyApp

_TIMING = ("interval", "scrapeTimeout")


def build_stack_monitor(
    app: PolicyApp, name: str, port: str, job_label: str, given: Fields
) -> Manifest:
    """The ServiceMonitor of the Service of this name; ``given``: the user's settings."""
    endpoint = {
        "path": "/metrics",
        "port": port,
        **{key: given[key] for key in _TIMING if given.get(key)},
    }
    if given.get("honorLabels") is not None:
        endpoint["honorLabels"] = given["honorLabels"]
    if given.get("relabelings"):
        endpoint["relabelings"] = list(given["relabelings"])
    return app.child(
        "ServiceMonitor",
        {
            "endpoints": [endpoint],
            "jobLabel": job_label,
            "namespaceSelector": {"matchNames": [app.namespace]},
            "selector": {"matchLabels": {"app": name}},
        },
        name=name,
        labels={"app": name, **(given.get("additionalLabels") or {})},
    )


def build_stack_service(
    app: PolicyApp, name: str, port: str, number: int, *, is_scraped: bool = True
) -> Manifest:
    """The Service of the pods of this name."""
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
