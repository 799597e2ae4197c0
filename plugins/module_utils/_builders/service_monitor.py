# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ServiceMonitor, which gives Prometheus its scrape targets."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Manifest
from .app import App
from .pod import without_empty


def build_service_monitor(app: App, paths: t.Mapping[str, str], given: Fields) -> Manifest:
    """The ServiceMonitor for ``paths``, keyed by the name of the Service's port.

    ``given``: the user's `interval`, `scrapeTimeout`, `additionalLabels` and `annotations`. The
    additional labels override even our own: Prometheus selects its monitors by them. Services are
    selected by name only: their other labels change with the operator's release and with the spec.
    """
    timing = {key: given.get(key) for key in ("interval", "scrapeTimeout")}
    labels = {"app.kubernetes.io/instance": app.name, "app.kubernetes.io/name": app.name}
    return app.child(
        "ServiceMonitor",
        {
            "namespaceSelector": {"matchNames": [app.namespace]},
            "selector": {"matchLabels": labels},
            "endpoints": [
                without_empty({"path": path, "port": port, **timing})
                for port, path in paths.items()
            ],
        },
        labels={**app.labels, **(given.get("additionalLabels") or {})},
        annotations=app.annotations_with(given.get("annotations")),
    )
