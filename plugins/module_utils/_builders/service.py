# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Service."""

from __future__ import annotations

import typing as t

from .._base.types import Manifest
from .._engine.metadata import Labels, merge_missing
from .app import App
from .expose import Expose


def build_service(
    app: App,
    ports: t.Mapping[str, int],
    selector: Labels,
    expose: Expose,
    name: str = "",
) -> Manifest:
    """A Service with ``ports``, by name and number; containers have ports of the same names."""
    return app.child(
        "Service",
        {
            "type": expose.service_type or "ClusterIP",
            "selector": selector,
            "ports": [
                {"name": port, "port": number, "protocol": "TCP", "targetPort": port}
                for port, number in ports.items()
            ],
        },
        name=name,
        labels=merge_missing(app.labels, expose.service_labels),
        annotations=app.annotations_with(expose.service_annotations),
    )
