# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""`spec.expose`: the Service, Ingress and Gateway routes of a service."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from .._base.errors import NimError
from .._base.types import Fields, Json, Manifest
from .app import App, invalid_annotation
from .tenant_limits import INGRESS_ANNOTATIONS, POD_LABELS, key_violations
from .verdict import reason_of

DEFAULT_PORT = 8000

GATEWAY_FIELD = "spec.expose.router.gateway"
HOST_FIELD = "spec.expose.router.hostDomainName"
PICKER_FIELD = "spec.expose.router.eppConfig"
BACKEND_FIELDS = {
    "Ingress": "spec.expose.ingress.spec",
    "HTTPRoute": f"{GATEWAY_FIELD}.backendRef",
    "GRPCRoute": f"{GATEWAY_FIELD}.backendRef",
}
"""kind → the field that refers to its backend"""

REQUEST_TIMEOUT = "nimops.nim/request-timeout"
"""Annotation of a resource: how long its HTTPRoute waits for the end of an answer."""

# A duration of the Gateway API.
_DURATION = re.compile(r"(?:[0-9]{1,5}(?:h|ms|m|s)){1,4}", re.ASCII)

Texts = t.Mapping[str, str]


@dataclass(frozen=True)
class Expose:
    """`spec.expose`; missing fields are empty."""

    service_name: str
    service_type: str
    service_labels: Texts
    service_annotations: Texts
    ports: t.Mapping[str, int]
    """Name and number of each port of the Service, in order; the first is `api`."""
    kinds: tuple[str, ...]
    """Which of Ingress, HTTPRoute and GRPCRoute are wanted, in order."""
    legacy_ingress: Fields
    """`spec.expose.ingress`, if enabled; it overrides the router's."""
    ingress: Fields
    gateway: Fields
    domain: str
    """`hostDomainName`, without a trailing dot."""
    annotations: Texts
    """The annotations of the routes, and of an Ingress of the router."""
    picker: Fields
    """`eppConfig`, for the kinds that support it."""


def parse_expose(fields: Fields) -> Expose:
    """Parse `spec.expose`."""
    service, router = fields.get("service") or {}, fields.get("router") or {}
    legacy, ingress = fields.get("ingress") or {}, router.get("ingress") or {}
    legacy, gateway = legacy if legacy.get("enabled") else {}, router.get("gateway") or {}
    numbers = {
        "api": int(service.get("port") or DEFAULT_PORT),
        "grpc": service.get("grpcPort"),
        "metrics": service.get("metricsPort"),
    }
    wanted = {
        "Ingress": legacy or ingress,
        "HTTPRoute": gateway and gateway.get("httpRoutesEnabled") is not False,
        "GRPCRoute": gateway.get("grpcRoutesEnabled"),
    }
    return Expose(
        service_name=service.get("name") or "",
        service_type=service.get("type") or "",
        service_labels=service.get("labels") or {},
        service_annotations=service.get("annotations") or {},
        ports={name: number for name, number in numbers.items() if number},
        kinds=tuple(kind for kind, is_wanted in wanted.items() if is_wanted),
        legacy_ingress=legacy,
        ingress=ingress,
        gateway=gateway,
        domain=str(router.get("hostDomainName") or "").rstrip("."),
        annotations=router.get("annotations") or {},
        picker=router.get("eppConfig") or {},
    )


def route_host(app: App, expose: Expose) -> str:
    """The host name of the Ingress and of every route; empty without a domain."""
    return f"{app.name}.{app.namespace}.{expose.domain}" if expose.domain else ""


def build_ingress(
    app: App,
    expose: Expose,
    service: str,
    legacy: t.Callable[[Fields, str], Fields] = lambda spec, _service: spec,
) -> Manifest:
    """The Ingress to a Service; if both fields are set, the deprecated one wins.

    ``legacy`` turns `spec.expose.ingress.spec` and the Service's name into the spec of an Ingress.
    """
    if given := expose.legacy_ingress:
        spec = legacy(given.get("spec") or {}, service)
        annotations = given.get("annotations")
    else:
        spec, annotations = _ingress_spec(app, expose, service), expose.annotations
    return app.child("Ingress", spec, annotations=app.annotations_with(annotations))


def build_http_route(app: App, expose: Expose, service: str) -> Manifest:
    """An HTTPRoute of all paths to a Service, or to the backend that the user specifies instead."""
    own = {"name": service, "port": expose.ports["api"]}
    rule: Json = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
        "backendRefs": [expose.gateway.get("backendRef") or own],
    }
    if timeout := _request_timeout(app):
        rule["timeouts"] = {"request": timeout}
    return _build_route(app, expose, "HTTPRoute", rule)


def _request_timeout(app: App) -> str:
    """The duration of the annotation, empty without it; NimError if it is invalid."""
    text = app.annotation(REQUEST_TIMEOUT)
    if text and not _DURATION.fullmatch(text.strip()):
        problem = "is not a duration such as 10m or 1h30m; 0s is none"
        raise invalid_annotation(REQUEST_TIMEOUT, text, problem)
    return text.strip()


def build_grpc_route(app: App, expose: Expose, service: str) -> Manifest:
    """A GRPCRoute of all methods to the gRPC port of a Service; NimError if it has none."""
    if "grpc" not in expose.ports:
        raise NimError(
            "spec.expose.service.grpcPort must be set when"
            f" {GATEWAY_FIELD}.grpcRoutesEnabled is true",
            reason=reason_of("GRPCRoute"),
        )
    backend = {"name": service, "port": expose.ports["grpc"]}
    return _build_route(app, expose, "GRPCRoute", {"backendRefs": [backend]})


def _ingress_spec(app: App, expose: Expose, service: str) -> Fields:
    """The spec of an Ingress of all paths to the port `api` of a Service."""
    host, given = _needed_host(app, expose, "Ingress"), expose.ingress
    backend = {"service": {"name": service, "port": {"name": "api"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec: Json = {
        "ingressClassName": given["ingressClass"],
        "rules": [{"host": host, "http": {"paths": [path]}}],
    }
    if given.get("tlsSecretName"):
        spec["tls"] = [{"hosts": [host], "secretName": given["tlsSecretName"]}]
    return spec


def _build_route(app: App, expose: Expose, kind: str, rule: Fields) -> Manifest:
    host, gateway = _needed_host(app, expose, kind), expose.gateway
    spec = {
        "parentRefs": [{"name": gateway["name"], "namespace": gateway["namespace"]}],
        "hostnames": [host],
        "rules": [rule],
    }
    return app.child(kind, spec, annotations=app.annotations_with(expose.annotations))


def _needed_host(app: App, expose: Expose, kind: str) -> str:
    host = route_host(app, expose)
    if not host:
        raise NimError(
            f"{HOST_FIELD} is required with an ingress or a gateway",
            reason=reason_of(kind),
        )
    return host


def annotation_violations(app: App, expose: Expose) -> list[str]:
    """Violations by annotations of the Ingress and the routes; ours take precedence."""
    return [
        violation
        for field, given in _annotations_given(app, expose).items()
        for violation in key_violations(
            app.observed, INGRESS_ANNOTATIONS, field, set(given) - app.standard_annotations.keys()
        )
    ]


def label_violations(app: App, expose: Expose | None) -> list[str]:
    """Violations by labels of pods and, with ``expose``, of the Service; ours take precedence."""
    given = {"spec.labels": app.resource["spec"].get("labels")}
    if expose:
        given["spec.expose.service.labels"] = expose.service_labels
    return [
        violation
        for field, labels in given.items()
        for violation in key_violations(
            app.observed, POD_LABELS, field, set(labels or ()) - app.standard_labels.keys()
        )
    ]


def _annotations_given(app: App, expose: Expose) -> dict[str, t.Iterable[str]]:
    """Field → its annotations for the Ingress and routes; empty without these objects."""
    legacy = expose.legacy_ingress
    given: dict[str, t.Iterable[str]] = {}
    if expose.kinds:
        given["spec.annotations"] = app.resource["spec"].get("annotations") or {}
    if legacy:
        given["spec.expose.ingress.annotations"] = legacy.get("annotations") or {}
    if any(kind != "Ingress" or not legacy for kind in expose.kinds):
        given["spec.expose.router.annotations"] = expose.annotations
    return given
