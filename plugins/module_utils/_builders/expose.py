# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`spec.expose`: how a service is reached, from outside by an Ingress or a Gateway's routes."""

from __future__ import annotations

import typing as t

from .._base.errors import NimError
from .._base.types import Fields, Manifest
from . import ingress, routes
from .app import App
from .policy import INGRESS_ANNOTATIONS, POD_LABELS, key_faults
from .verdict import reason_of

DEFAULT_PORT = 8000


class Expose:
    """`spec.expose`; missing fields are empty."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields

    @property
    def service(self) -> Fields:
        """`spec.expose.service`."""
        return self.fields.get("service") or {}

    @property
    def port(self) -> int:
        """`spec.expose.service.port`, or its default."""
        return int(self.service.get("port") or DEFAULT_PORT)

    @property
    def legacy_ingress(self) -> Fields:
        """`spec.expose.ingress`, if enabled: it overrides the router's."""
        given = self.fields.get("ingress") or {}
        return given if given.get("enabled") else {}

    @property
    def router(self) -> Fields:
        """`spec.expose.router`."""
        return self.fields.get("router") or {}

    @property
    def domain(self) -> str:
        """`spec.expose.router.hostDomainName`, without a trailing dot."""
        return str(self.router.get("hostDomainName") or "").rstrip(".")

    @property
    def annotations(self) -> t.Mapping[str, str] | None:
        """`spec.expose.router.annotations`."""
        return self.router.get("annotations")

    @property
    def ingress(self) -> Fields:
        """`spec.expose.router.ingress`."""
        return self.router.get("ingress") or {}

    @property
    def gateway(self) -> Fields:
        """`spec.expose.router.gateway`."""
        return self.router.get("gateway") or {}

    @property
    def has_ingress(self) -> bool:
        """Whether an Ingress is wanted, by either field."""
        return bool(self.legacy_ingress or self.ingress)

    @property
    def has_http_route(self) -> bool:
        """Whether an HTTPRoute is wanted: the default for a gateway."""
        return bool(self.gateway) and self.gateway.get("httpRoutesEnabled") is not False

    @property
    def has_grpc_route(self) -> bool:
        """Whether a GRPCRoute is wanted."""
        return bool(self.gateway.get("grpcRoutesEnabled"))


def route_host(app: App, expose: Expose) -> str:
    """The host name of the Ingress and of every route."""
    if not expose.domain:
        route = "HTTPRoute" if expose.has_http_route else "GRPCRoute"
        raise NimError(
            "spec.expose.router.hostDomainName is required with an ingress or a gateway",
            reason=reason_of("Ingress" if expose.ingress else route),
        )
    return f"{app.name}.{app.namespace}.{expose.domain}"


def build_ingress(
    app: App, expose: Expose, service: str, legacy: t.Callable[[Fields], Fields]
) -> Manifest:
    """The Ingress to a Service; if both fields are set, the deprecated one counts.

    ``legacy`` turns `spec.expose.ingress.spec` into the spec of an Ingress.
    """
    if given := expose.legacy_ingress:
        return ingress.build_ingress(app, legacy(given.get("spec") or {}), given.get("annotations"))
    spec = ingress.ingress_spec(route_host(app, expose), service, expose.ingress)
    return ingress.build_ingress(app, spec, expose.annotations)


def build_http_route(app: App, expose: Expose, service: str, port: int) -> Manifest:
    """Route all paths to a Service, or to the backend that the user names instead."""
    backend = expose.gateway.get("backendRef") or {"name": service, "port": port}
    return routes.build_http_route(app, route_of(app, expose), backend)


def route_of(app: App, expose: Expose) -> routes.Route:
    """What all routes have in common."""
    return routes.Route(route_host(app, expose), expose.gateway, expose.annotations)


def annotation_faults(app: App, expose: Expose) -> list[str]:
    """Why annotations of the Ingress and the routes are forbidden; our own override the user's."""
    return [
        fault
        for field, given in _annotations_given(app, expose).items()
        for fault in key_faults(
            app.observed, INGRESS_ANNOTATIONS, field, set(given) - app.standard_annotations.keys()
        )
    ]


def label_faults(app: App, expose: Expose | None) -> list[str]:
    """Why labels are forbidden; our own override the user's. Without ``expose``: of pods only."""
    given = {"spec.labels": app.resource["spec"].get("labels")}
    if expose:
        given["spec.expose.service.labels"] = expose.service.get("labels")
    return [
        fault
        for field, labels in given.items()
        for fault in key_faults(
            app.observed, POD_LABELS, field, set(labels or ()) - app.standard_labels.keys()
        )
    ]


def _annotations_given(app: App, expose: Expose) -> dict[str, t.Iterable[str]]:
    """Field → its annotations for the Ingress and routes; none if there are none."""
    has_routes = expose.has_http_route or expose.has_grpc_route
    given: dict[str, t.Iterable[str]] = {}
    if expose.has_ingress or has_routes:
        given["spec.annotations"] = app.resource["spec"].get("annotations") or {}
    if expose.legacy_ingress:
        given["spec.expose.ingress.annotations"] = expose.legacy_ingress.get("annotations") or {}
    if has_routes or (expose.ingress and not expose.legacy_ingress):
        given["spec.expose.router.annotations"] = expose.annotations or {}
    return given
