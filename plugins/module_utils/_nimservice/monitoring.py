# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The ServiceMonitor of `spec.metrics`."""

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import without_empty
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    namespace_of,
    ports,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)

_PATHS = {"api": "/v1/metrics", "metrics": "/metrics"}


def build_service_monitor(cr: Resource, observed: Observed) -> Manifest:
    """What Prometheus scrapes: the model's metrics, and Triton's where it has a port for them.

    The additional labels replace even our own: Prometheus finds its monitors by them. Services are
    selected by name only: the other labels change with the operator's release and with the spec.
    """
    given = (cr["spec"].get("metrics") or {}).get("serviceMonitor") or {}
    timing = {key: given.get(key) for key in ("interval", "scrapeTimeout")}
    name = name_of(cr)
    return build(
        cr,
        "ServiceMonitor",
        {**service_labels(cr, observed), **(given.get("additionalLabels") or {})},
        nim_annotations(cr, given.get("annotations")),
        spec={
            "namespaceSelector": {"matchNames": [namespace_of(cr)]},
            "selector": {
                "matchLabels": {
                    "app.kubernetes.io/instance": name,
                    "app.kubernetes.io/name": name,
                }
            },
            "endpoints": [
                without_empty({"path": _PATHS[port], "port": port, **timing})
                for port in ports(cr)
                if port in _PATHS
            ],
        },
    )
