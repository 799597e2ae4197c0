# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.routes import (
    Route,
    build_grpc_route,
    build_http_route,
)

ROUTE = Route("h.example", {"name": "g", "namespace": "gw", "grpcRoutesEnabled": True}, {"b": "2"})
EVERY_PATH = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}


@pytest.mark.parametrize(
    ("build", "kind", "matches"),
    [(build_http_route, "HTTPRoute", EVERY_PATH), (build_grpc_route, "GRPCRoute", {})],
)
@pytest.mark.parametrize(
    "backend",
    [
        {"name": "a", "port": 8000},
        {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "a"},
    ],
    ids=["Service", "reference"],
)
def test_routes(app: t.Any, build: t.Any, kind: str, matches: t.Any, backend: t.Any) -> None:
    made = build(app(annotations={"a": "1", "b": "1"}), ROUTE, backend)
    assert (made["kind"], made["metadata"]["name"]) == (kind, "a")
    assert made["metadata"]["annotations"] == {"a": "1", "b": "1"}
    assert made["spec"] == {
        "parentRefs": [{"name": "g", "namespace": "gw"}],
        "hostnames": ["h.example"],
        "rules": [matches | {"backendRefs": [backend]}],
    }


def test_annotations_of_the_route_are_optional(app: t.Any) -> None:
    made = build_http_route(app(), Route("h", ROUTE.gateway), {"name": "a", "port": 1})
    assert "annotations" not in made["metadata"]
