# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""HTTPRoute and GRPCRoute of `spec.expose.router.gateway`."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    name_of,
    namespace_of,
    ports,
    router,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import service_name


def route_host(cr: Resource) -> str:
    """The host name of the Ingress and of every route."""
    domain = str(router(cr).get("hostDomainName") or "").rstrip(".")
    if not domain:
        raise NimError("spec.expose.router.hostDomainName is required with an ingress or a gateway")
    return f"{name_of(cr)}.{namespace_of(cr)}.{domain}"


def build_http_route(cr: Resource, observed: Observed) -> Manifest:
    """All paths to the Service, or to the backend that the user names instead."""
    backend = router(cr)["gateway"].get("backendRef") or {
        "name": service_name(cr),
        "port": ports(cr)["api"],
    }
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
        "backendRefs": [backend],
    }
    return _build_route(cr, observed, "HTTPRoute", rule)


def build_grpc_route(cr: Resource, observed: Observed) -> Manifest:
    """All methods to the Service's gRPC port; NimError if it has none."""
    if "grpc" not in ports(cr):
        raise NimError(
            "spec.expose.service.grpcPort must be set when"
            " spec.expose.router.gateway.grpcRoutesEnabled is true",
            reason="GRPCRouteFailed",
        )
    rule = {"backendRefs": [{"name": service_name(cr), "port": ports(cr)["grpc"]}]}
    return _build_route(cr, observed, "GRPCRoute", rule)


def _build_route(cr: Resource, observed: Observed, kind: str, rule: dict[str, t.Any]) -> Manifest:
    gateway = router(cr)["gateway"]
    return build(
        cr,
        kind,
        service_labels(cr, observed),
        nim_annotations(cr, router(cr).get("annotations")),
        spec={
            "parentRefs": [{"name": gateway["name"], "namespace": gateway["namespace"]}],
            "hostnames": [route_host(cr)],
            "rules": [rule],
        },
    )
