# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A controller of Gateways, Envoy Gateway, and the Envoys that it deploys."""

from __future__ import annotations

from typing import Any

from .base import Neighbor, Place

_NAMESPACE = "envoy-gateway-system"
_CONTROLLER = "gateway.envoyproxy.io/gatewayclass-controller"


def _files(place: Place) -> dict[str, Any]:
    provider = {
        "type": "Kubernetes",
        "kubernetes": {
            "leaderElection": {"disable": True},
            # There are no zones to route by.
            "proxyTopologyInjector": {"disabled": True},
        },
    }
    configuration = {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyGateway",
        "gateway": {"controllerName": _CONTROLLER},
        "provider": provider,
        # An Envoy in the same network has the default port.
        "admin": {"address": {"host": "127.0.0.1", "port": 19010}},
        "logging": {"level": {"default": "info"}},
        "telemetry": {"metrics": {"prometheus": {"disable": True}}},
    }
    urls = {it: f"{it}://127.0.0.1:{place.port(it)}" for it in ("http", "https")}
    return {"config.yaml": configuration, **urls}


def _objects(_: Place) -> list[dict[str, Any]]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}},
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "GatewayClass",
            "metadata": {"name": "envoy"},
            "spec": {
                "controllerName": _CONTROLLER,
                "parametersRef": {
                    "group": "gateway.envoyproxy.io",
                    "kind": "EnvoyProxy",
                    "name": "envoy",
                    "namespace": _NAMESPACE,
                },
            },
        },
        {
            "apiVersion": "gateway.envoyproxy.io/v1alpha1",
            "kind": "EnvoyProxy",
            "metadata": {"name": "envoy", "namespace": _NAMESPACE},
            # Nothing provides load balancers.
            "spec": {
                "provider": {
                    "type": "Kubernetes",
                    "kubernetes": {"envoyService": {"type": "ClusterIP"}},
                }
            },
        },
    ]


def _arguments(place: Place) -> list[str]:
    return [
        f"--kubeconfig={place.kubeconfig}",
        f"--config={place.folder / 'config.yaml'}",
        f"--state={place.folder / 'state'}",
        f"--http={place.port('http')}",
        f"--https={place.port('https')}",
    ]


GATEWAY = Neighbor(
    "gateway",
    {"envoy-gateway": _arguments},
    definitions={
        "github.com/envoyproxy/gateway": [
            "charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_*.yaml"
        ],
        "sigs.k8s.io/gateway-api": ["config/crd/standard/*_referencegrants.yaml"],
    },
    files=_files,
    objects=_objects,
    runner="run_gateway.py",
)
