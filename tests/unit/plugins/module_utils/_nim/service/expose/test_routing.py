# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.app import NIMServiceApp
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.expose.routing import (
    build_grpc_route,
    build_http_route,
    build_ingress,
    route_host,
)

GATEWAY = {"name": "g", "namespace": "gw", "grpcRoutesEnabled": True}
BACKEND = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "llm"}


def expose(service: t.Any = None, **router: t.Any) -> dict[str, t.Any]:
    return {
        "expose": {"service": service or {}, "router": {"hostDomainName": "example.com", **router}}
    }


def test_build_ingress_of_the_router(make: t.Any) -> None:
    spec = expose(ingress={"ingressClass": "nginx", "tlsSecretName": "tls"}, annotations={"a": "1"})
    made = build_ingress(NIMServiceApp(make.cr(spec), make.observe()))
    host = "llm.ns.example.com"
    assert made["spec"] == {
        "ingressClassName": "nginx",
        "rules": [
            {
                "host": host,
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "llm", "port": {"name": "api"}}},
                        }
                    ]
                },
            }
        ],
        "tls": [{"hosts": [host], "secretName": "tls"}],
    }
    assert made["metadata"]["annotations"]["a"] == "1"


def test_build_ingress_prefers_the_legacy_one(make: t.Any) -> None:
    spec = expose(ingress={"ingressClass": "nginx"}, annotations={"a": "1"})
    own = {"ingressClassName": "mine", "rules": [{"host": "h"}]}
    spec["expose"]["ingress"] = {"enabled": True, "spec": own, "annotations": {"b": "1"}}
    made = build_ingress(NIMServiceApp(make.cr(spec), make.observe()))
    assert made["spec"] == own
    assert set(made["metadata"]["annotations"]) == {"openshift.io/required-scc", "b"}


@pytest.mark.parametrize(
    ("spec", "backend"),
    [
        pytest.param(expose(gateway=GATEWAY), {"name": "llm", "port": 8000}, id="the Service"),
        pytest.param(
            expose({"name": "front", "port": 80}, gateway=GATEWAY),
            {"name": "front", "port": 80},
            id="its given name",
        ),
        pytest.param(
            expose(gateway=GATEWAY | {"backendRef": BACKEND}), BACKEND, id="another backend"
        ),
    ],
)
def test_build_http_route(make: t.Any, spec: t.Any, backend: t.Any) -> None:
    assert build_http_route(NIMServiceApp(make.cr(spec), make.observe()))["spec"] == {
        "parentRefs": [{"name": "g", "namespace": "gw"}],
        "hostnames": ["llm.ns.example.com"],
        "rules": [
            {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [backend]}
        ],
    }


def test_build_grpc_route_ignores_the_other_backend(make: t.Any) -> None:
    spec = expose({"grpcPort": 81}, gateway=GATEWAY | {"backendRef": BACKEND})
    made = build_grpc_route(NIMServiceApp(make.cr(spec), make.observe()))
    assert made["spec"]["rules"] == [{"backendRefs": [{"name": "llm", "port": 81}]}]


def test_build_grpc_route_needs_the_port(make: t.Any) -> None:
    with pytest.raises(NimError, match=r"spec\.expose\.service\.grpcPort") as raised:
        build_grpc_route(NIMServiceApp(make.cr(expose(gateway=GATEWAY)), make.observe()))
    assert raised.value.reason == "GRPCRouteFailed"


def test_route_host(make: t.Any) -> None:
    assert (
        route_host(NIMServiceApp(make.cr(expose(hostDomainName="a.example."))))
        == "llm.ns.a.example"
    )
    with pytest.raises(NimError, match=r"spec\.expose\.router\.hostDomainName"):
        route_host(NIMServiceApp(make.cr(expose(hostDomainName=""))))
