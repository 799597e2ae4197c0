# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Routes of the Gateway API."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Manifest
from .app import App


class Route(t.NamedTuple):
    """What the routes of a custom resource have in common.

    ``gateway`` has the `name` and `namespace` of the Gateway; ``annotations`` are the user's.
    """

    host: str
    gateway: Fields
    annotations: t.Mapping[str, str] | None = None


def build_http_route(app: App, route: Route, backend: Fields) -> Manifest:
    """Route all paths of the host to a backend (`name` and `port` of a Service, or a reference)."""
    rule = {
        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
        "backendRefs": [backend],
    }
    return _build_route(app, "HTTPRoute", route, rule)


def build_grpc_route(app: App, route: Route, backend: Fields) -> Manifest:
    """Route all methods to a backend."""
    return _build_route(app, "GRPCRoute", route, {"backendRefs": [backend]})


def _build_route(app: App, kind: str, route: Route, rule: Fields) -> Manifest:
    gateway = route.gateway
    spec = {
        "parentRefs": [{"name": gateway["name"], "namespace": gateway["namespace"]}],
        "hostnames": [route.host],
        "rules": [rule],
    }
    return app.child(kind, spec, annotations=app.annotations_with(route.annotations))
