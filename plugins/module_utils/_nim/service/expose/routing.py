# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""External access to a NIMService: its Ingress and routes."""

from __future__ import annotations

import typing as t

from ...._base.types import Manifest
from ...._builders.app import App
from ...._builders.expose import Expose, build_grpc_route, build_http_route, build_ingress
from ..app import NIMServiceApp
from ..spec import Spec
from .service import service_name

Feature = tuple[str, t.Callable[[Spec], bool], t.Callable[[NIMServiceApp], Manifest]]
"""kind, predicate on the spec, builder; the object has the custom resource's name"""


def _to_service(kind: str, build: t.Callable[[App, Expose, str], Manifest]) -> Feature:
    return (
        kind,
        lambda spec: kind in spec.expose.kinds,
        lambda app: build(app, app.spec.expose, service_name(app)),
    )


ROUTING: tuple[Feature, ...] = (
    _to_service("Ingress", build_ingress),
    _to_service("HTTPRoute", build_http_route),
    _to_service("GRPCRoute", build_grpc_route),
)


def replaced_by_knative(expose: Expose) -> dict[str, bool]:
    """Fields that Knative replaces with its own features → whether they are set."""
    return {
        "spec.expose.ingress.enabled": bool(expose.legacy_ingress),
        "spec.expose.router.ingress": bool(expose.ingress),
        "spec.expose.router.gateway": bool(expose.gateway),
    }
