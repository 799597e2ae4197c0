# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The InferencePool that a gateway routes to, and the picker's Service."""

from __future__ import annotations

from ...._base.types import Json, Manifest
from ...._builders.nim_metadata import keep_hash
from ...._builders.pod import without_empty
from ..app import NIMServiceApp
from ..expose.service import served_by
from ..workload import selector_labels
from .config import picker_name

PICKER_PORT, HEALTH_PORT = 9002, 9003

_DEFAULT_PORTS = {
    "grpc-ext-proc": PICKER_PORT,
    "grpc-health": HEALTH_PORT,
    "http-metrics": 9090,
}
_NOT_SERVED = "grpc-health"


def container_ports(app: NIMServiceApp) -> list[Json]:
    """The ports of the picker's container: the user's, or the defaults."""
    given = app.spec.picker.ports or [
        {"name": name, "containerPort": number} for name, number in _DEFAULT_PORTS.items()
    ]
    return [{"protocol": "TCP", **port} for port in given]


def lacks_port(app: NIMServiceApp) -> bool:
    """Whether the user's `ports` lack the port that the InferencePool refers to."""
    return not any(
        (port["containerPort"], port["protocol"]) == (PICKER_PORT, "TCP")
        for port in container_ports(app)
    )


def build_picker_service(app: NIMServiceApp) -> Manifest:
    """Build the picker's Service, with the user's ports, or the default ports except health."""
    served = [
        {
            "name": port.get("name"),
            "port": port["containerPort"],
            "protocol": port["protocol"],
            "targetPort": port["containerPort"],
        }
        for port in container_ports(app)
        if app.spec.picker.ports or port["name"] != _NOT_SERVED
    ]
    spec = {
        "type": "ClusterIP",
        "selector": {"app": picker_name(app)},
        "ports": [without_empty(port) for port in served],
    }
    return app.child("Service", annotations={}, name=picker_name(app), spec=spec)


def build_pool(app: NIMServiceApp) -> Manifest:
    """Build the InferencePool: the pods that the picker chooses from."""
    spec = {
        "selector": {"matchLabels": selector_labels(served_by(app))},
        "targetPorts": [{"number": app.spec.expose.ports["api"]}],
        "endpointPickerRef": {"name": picker_name(app), "port": {"number": PICKER_PORT}},
    }
    pool = app.child("InferencePool", annotations={}, spec=spec)
    return keep_hash(pool, app.live("InferencePool"))
