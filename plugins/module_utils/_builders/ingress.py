# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Ingress that routes a host to one Service."""

from __future__ import annotations

import typing as t

from .._base.types import Fields, Manifest
from .app import App


def build_ingress(app: App, spec: Fields, annotations: t.Mapping[str, str] | None) -> Manifest:
    """An Ingress; ``annotations`` are the user's."""
    return app.child("Ingress", spec, annotations=app.annotations_with(annotations))


def ingress_spec(host: str, service: str, given: Fields, port: str = "api") -> dict[str, t.Any]:
    """Route all paths of a host to a named port of a Service.

    ``given``: `ingressClass`, and `tlsSecretName` for TLS.
    """
    backend = {"service": {"name": service, "port": {"name": port}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec: dict[str, t.Any] = {
        "ingressClassName": given["ingressClass"],
        "rules": [{"host": host, "http": {"paths": [path]}}],
    }
    if given.get("tlsSecretName"):
        spec["tls"] = [{"hosts": [host], "secretName": given["tlsSecretName"]}]
    return spec
