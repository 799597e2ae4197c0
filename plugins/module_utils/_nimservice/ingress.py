# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The Ingress: the user's own spec (the deprecated way), or one made of `spec.expose.router`."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.desired import Manifest
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    legacy_ingress,
    router,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.metadata import (
    build,
    nim_annotations,
    service_labels,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.routes import route_host
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import service_name


def build_ingress(cr: Resource, observed: Observed) -> Manifest:
    """The Ingress; where both ways are given, the deprecated one counts."""
    legacy = legacy_ingress(cr)
    if legacy.get("enabled"):
        spec, annotations = dict(legacy.get("spec") or {}), legacy.get("annotations")
    else:
        spec, annotations = _router_spec(cr), router(cr).get("annotations")
    labels = service_labels(cr, observed)
    return build(cr, "Ingress", labels, nim_annotations(cr, annotations), spec=spec)


def _router_spec(cr: Resource) -> dict[str, t.Any]:
    ingress, host = router(cr)["ingress"], route_host(cr)
    backend = {"service": {"name": service_name(cr), "port": {"name": "api"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec: dict[str, t.Any] = {
        "ingressClassName": ingress["ingressClass"],
        "rules": [{"host": host, "http": {"paths": [path]}}],
    }
    if ingress.get("tlsSecretName"):
        spec["tls"] = [{"hosts": [host], "secretName": ingress["tlsSecretName"]}]
    return spec
