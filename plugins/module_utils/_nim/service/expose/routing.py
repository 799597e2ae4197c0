# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""External access to a NIMService: its Ingress and routes, and what rules them out."""

from __future__ import annotations

import typing as t

from ...._base.errors import NimError
from ...._base.types import Manifest
from ...._builders import expose as exposure
from ...._builders import routes
from ..app import NIMServiceApp
from ..spec import Expose, Spec
from .service import service_name


def route_host(app: NIMServiceApp) -> str:
    """The host name of the Ingress and of every route."""
    return exposure.route_host(app, app.spec.expose)


def has_ingress(app: NIMServiceApp) -> bool:
    """Whether an Ingress is wanted, by either field."""
    return app.spec.expose.has_ingress


def routed_host(app: NIMServiceApp) -> str:
    """The host name of the routes, empty if there are none."""
    expose = app.spec.expose
    return route_host(app) if expose.has_http_route or expose.has_grpc_route else ""


def build_ingress(app: NIMServiceApp) -> Manifest:
    """The Ingress."""
    return exposure.build_ingress(app, app.spec.expose, service_name(app), lambda spec: spec)


def build_http_route(app: NIMServiceApp) -> Manifest:
    """The HTTPRoute."""
    expose = app.spec.expose
    return exposure.build_http_route(app, expose, service_name(app), expose.port)


def build_grpc_route(app: NIMServiceApp) -> Manifest:
    """Route all methods to the Service's gRPC port; NimError if it has none."""
    expose = app.spec.expose
    if "grpc" not in expose.ports:
        raise NimError(
            "spec.expose.service.grpcPort must be set when"
            " spec.expose.router.gateway.grpcRoutesEnabled is true",
            reason="GRPCRouteFailed",
        )
    backend = {"name": service_name(app), "port": expose.ports["grpc"]}
    return routes.build_grpc_route(app, exposure.route_of(app, expose), backend)


ROUTING: tuple[tuple[str, t.Callable[[Spec], bool], t.Callable[[NIMServiceApp], Manifest]], ...] = (
    ("Ingress", lambda spec: spec.expose.has_ingress, build_ingress),
    ("HTTPRoute", lambda spec: spec.expose.has_http_route, build_http_route),
    ("GRPCRoute", lambda spec: spec.expose.has_grpc_route, build_grpc_route),
)
"""kind, whether it is wanted, how to build it; each object has the custom resource's name"""


def refused_by_knative(expose: Expose) -> dict[str, bool]:
    """Field → whether it is set, for the fields that Knative replaces with its own features."""
    return {
        "spec.expose.ingress.enabled": bool(expose.legacy_ingress),
        "spec.router.ingress": bool(expose.ingress),
        "spec.router.gateway": bool(expose.gateway),
    }
