# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The InferencePool that a gateway routes to, and the Service at which it asks the picker."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._common.pods import without_empty
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    picker,
    ports,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.picker_config import (
    picker_name,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import served_by
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import selector_labels

PICKER_PORT, HEALTH_PORT = 9002, 9003

_DEFAULT_PORTS = {
    "grpc-ext-proc": PICKER_PORT,
    "grpc-health": HEALTH_PORT,
    "http-metrics": 9090,
}
_NOT_SERVED = "grpc-health"

Items = list[dict[str, t.Any]]


def container_ports(cr: Resource) -> Items:
    """The ports of the picker's container: the user's as they are, else the defaults."""
    given = picker(cr).get("ports") or [
        {"name": name, "containerPort": number} for name, number in _DEFAULT_PORTS.items()
    ]
    return [{"protocol": "TCP", **port} for port in given]


def lacks_port(cr: Resource) -> bool:
    """Whether the InferencePool asks at a port that the user's `ports` do not have."""
    return not any(
        (port["containerPort"], port["protocol"]) == (PICKER_PORT, "TCP")
        for port in container_ports(cr)
    )


def build_picker_service(cr: Resource, observed: Observed) -> Manifest:
    """The Service of the picker: all ports that the user gives; of the defaults, not the health."""
    served = [
        {
            "name": port.get("name"),
            "port": port["containerPort"],
            "protocol": port["protocol"],
            "targetPort": port["containerPort"],
        }
        for port in container_ports(cr)
        if picker(cr).get("ports") or port["name"] != _NOT_SERVED
    ]
    spec = {
        "type": "ClusterIP",
        "selector": {"app": picker_name(cr)},
        "ports": [without_empty(port) for port in served],
    }
    return build(cr, "Service", service_labels(cr, observed), name=picker_name(cr), spec=spec)


def build_pool(cr: Resource, observed: Observed) -> Manifest:
    """The pods that the Service leads to, one of which the picker picks for each request."""
    spec = {
        "selector": {"matchLabels": selector_labels(served_by(cr, observed))},
        "targetPorts": [{"number": ports(cr)["api"]}],
        "endpointPickerRef": {"name": picker_name(cr), "port": {"number": PICKER_PORT}},
    }
    return build(cr, "InferencePool", service_labels(cr, observed), spec=spec)
