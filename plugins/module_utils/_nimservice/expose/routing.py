# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""External access to a NIMService: its Ingress and routes, and what rules them out."""

from __future__ import annotations

import typing as t

from ..._base.errors import NimError
from ..._components import ingress, routes
from ..._engine.desired import Manifest
from ..app import NIMServiceApp
from ..spec import Expose, Spec
from .service import service_name


def route_host(app: NIMServiceApp) -> str:
    """The host name of the Ingress and of every route."""
    domain = app.spec.expose.domain
    if not domain:
        raise NimError("spec.expose.router.hostDomainName is required with an ingress or a gateway")
    return f"{app.name}.{app.namespace}.{domain}"


def has_ingress(app: NIMServiceApp) -> bool:
    """Whether an Ingress is wanted, by either field."""
    return app.spec.expose.has_ingress


def routed_host(app: NIMServiceApp) -> str:
    """The host name of the routes, empty if there are none."""
    expose = app.spec.expose
    return route_host(app) if expose.has_http_route or expose.has_grpc_route else ""


def build_ingress(app: NIMServiceApp) -> Manifest:
    """The Ingress; if both fields are set, the deprecated one counts."""
    expose = app.spec.expose
    if legacy := expose.legacy_ingress:
        return ingress.build_ingress(app, legacy.get("spec") or {}, legacy.get("annotations"))
    spec = ingress.ingress_spec(route_host(app), service_name(app), expose.ingress)
    return ingress.build_ingress(app, spec, expose.annotations)


def build_http_route(app: NIMServiceApp) -> Manifest:
    """Route all paths to the Service, or to the backend that the user names instead."""
    backend = app.spec.expose.gateway.get("backendRef") or _backend(app, "api")
    return routes.build_http_route(app, _route(app), backend)


def build_grpc_route(app: NIMServiceApp) -> Manifest:
    """Route all methods to the Service's gRPC port; NimError if it has none."""
    if "grpc" not in app.spec.expose.ports:
        raise NimError(
            "spec.expose.service.grpcPort must be set when"
            " spec.expose.router.gateway.grpcRoutesEnabled is true",
            reason="GRPCRouteFailed",
        )
    return routes.build_grpc_route(app, _route(app), _backend(app, "grpc"))


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


def annotations_given(app: NIMServiceApp) -> dict[str, t.Iterable[str]]:
    """Field → its annotations for the Ingress and routes; none if there are none."""
    expose = app.spec.expose
    has_routes = expose.has_http_route or expose.has_grpc_route
    given: dict[str, t.Iterable[str]] = {}
    if expose.has_ingress or has_routes:
        given["spec.annotations"] = app.spec.annotations
    if expose.legacy_ingress:
        given["spec.expose.ingress.annotations"] = expose.legacy_ingress.get("annotations") or {}
    if has_routes or (expose.ingress and not expose.legacy_ingress):
        given["spec.expose.router.annotations"] = expose.annotations or {}
    return given


def _route(app: NIMServiceApp) -> routes.Route:
    expose = app.spec.expose
    return routes.Route(route_host(app), expose.gateway, expose.annotations)


def _backend(app: NIMServiceApp, port: str) -> dict[str, t.Any]:
    return {"name": service_name(app), "port": app.spec.expose.ports[port]}
