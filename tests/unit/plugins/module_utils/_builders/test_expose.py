# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.expose import (
    REQUEST_TIMEOUT,
    annotation_violations,
    build_grpc_route,
    build_http_route,
    build_ingress,
    label_violations,
    parse_expose,
    route_host,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

Json = dict[str, t.Any]
Make = t.Callable[..., App]

LEGACY = {"enabled": True, "spec": {"ingressClassName": "old"}, "annotations": {"l": "1"}}
ROUTER = {"hostDomainName": "example.com.", "annotations": {"r": "1"}}
INGRESS = {"ingressClass": "nginx"}
GATEWAY = {"name": "gw", "namespace": "infra"}


PARSE_EXPOSE_KINDS_CASES = {
    "nothing": ({}, ""),
    "legacy": ({"ingress": {"enabled": True}}, "Ingress"),
    "legacy off": ({"ingress": LEGACY | {"enabled": False}}, ""),
    "router": ({"router": {"ingress": INGRESS}}, "Ingress"),
    "gateway": ({"router": {"gateway": GATEWAY}}, "HTTPRoute"),
    "gateway without routes": ({"router": {"gateway": GATEWAY | {"httpRoutesEnabled": False}}}, ""),
    "both routes": (
        {"router": {"gateway": GATEWAY | {"grpcRoutesEnabled": True}}},
        "HTTPRoute GRPCRoute",
    ),
    "both": ({"ingress": LEGACY, "router": {"gateway": GATEWAY}}, "Ingress HTTPRoute"),
}


@pytest.mark.parametrize(
    ("fields", "wanted"), PARSE_EXPOSE_KINDS_CASES.values(), ids=PARSE_EXPOSE_KINDS_CASES
)
def test_parse_expose_kinds(fields: Json, wanted: str) -> None:
    assert parse_expose(fields).kinds == tuple(wanted.split())


@pytest.mark.parametrize(
    ("service", "wanted"),
    [
        pytest.param(None, {"api": 8000}, id="no service at all"),
        pytest.param({"port": 80}, {"api": 80}, id="only the API"),
        pytest.param({"grpcPort": 0, "metricsPort": 0}, {"api": 8000}, id="zeros"),
        pytest.param(
            {"port": 80, "metricsPort": 82, "grpcPort": 81},
            {"api": 80, "grpc": 81, "metrics": 82},
            id="all, in order",
        ),
    ],
)
def test_parse_expose_ports(service: Json | None, wanted: dict[str, int]) -> None:
    assert list(parse_expose({"service": service}).ports.items()) == list(wanted.items())


def test_route_host(app: Make) -> None:
    assert route_host(app(), parse_expose({"router": ROUTER})) == "a.ns.example.com"
    assert route_host(app(), parse_expose({})) == ""


@pytest.mark.parametrize(
    ("build", "router", "reason"),
    [
        (build_ingress, {"ingress": INGRESS}, "IngressFailed"),
        (build_http_route, {"gateway": GATEWAY}, "HTTPRouteFailed"),
        (build_grpc_route, {"gateway": GATEWAY}, "GRPCRouteFailed"),
    ],
)
def test_route_host_required(app: Make, build: t.Any, router: Json, reason: str) -> None:
    expose = parse_expose({"router": router, "service": {"grpcPort": 81}})
    with pytest.raises(NimError, match="hostDomainName is required") as raised:
        build(app(), expose, "front")
    assert raised.value.reason == reason


@pytest.mark.parametrize("secret", ["", "tls"])
def test_build_ingress_of_router(app: Make, secret: str) -> None:
    router = ROUTER | {"ingress": INGRESS | {"tlsSecretName": secret}}
    made = build_ingress(
        app(annotations={"a": "1", "r": "2"}), parse_expose({"router": router}), "b"
    )
    host, backend = "a.ns.example.com", {"service": {"name": "b", "port": {"name": "api"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec = {"ingressClassName": "nginx", "rules": [{"host": host, "http": {"paths": [path]}}]}
    assert (made["kind"], made["metadata"]["name"]) == ("Ingress", "a")
    assert made["spec"] == spec | (
        {"tls": [{"hosts": [host], "secretName": "tls"}]} if secret else {}
    )
    assert made["metadata"]["annotations"] == {"a": "1", "r": "2"}


def test_build_ingress_deprecated(app: Make) -> None:
    both = parse_expose({"ingress": LEGACY, "router": ROUTER | {"ingress": INGRESS}})
    found = build_ingress(app(), both, "b")
    assert found["spec"] == {"ingressClassName": "old"}
    assert found["metadata"]["annotations"] == {"l": "1"}
    found = build_ingress(app(), both, "b", lambda given, service: {**given, "to": service})
    assert found["spec"] == {"ingressClassName": "old", "to": "b"}


BACKEND = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "a"}
EVERY_PATH = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}


@pytest.mark.parametrize(
    ("build", "kind", "reference", "rule"),
    [
        pytest.param(
            build_http_route,
            "HTTPRoute",
            None,
            EVERY_PATH | {"backendRefs": [{"name": "b", "port": 80}]},
            id="HTTP",
        ),
        pytest.param(
            build_http_route,
            "HTTPRoute",
            BACKEND,
            EVERY_PATH | {"backendRefs": [BACKEND]},
            id="HTTP to another backend",
        ),
        pytest.param(
            build_grpc_route,
            "GRPCRoute",
            BACKEND,
            {"backendRefs": [{"name": "b", "port": 81}]},
            id="gRPC, always to the Service",
        ),
    ],
)
def test_build_routes(
    app: Make, build: t.Any, kind: str, reference: Json | None, rule: Json
) -> None:
    router = ROUTER | {"gateway": GATEWAY | {"backendRef": reference}}
    expose = parse_expose({"service": {"port": 80, "grpcPort": 81}, "router": router})
    made = build(app(annotations={"a": "1", "r": "2"}), expose, "b")
    assert (made["kind"], made["metadata"]["name"]) == (kind, "a")
    assert made["metadata"]["annotations"] == {"a": "1", "r": "2"}
    assert made["spec"] == {
        "parentRefs": [{"name": "gw", "namespace": "infra"}],
        "hostnames": ["a.ns.example.com"],
        "rules": [rule],
    }


def test_build_routes_without_annotations(app: Make) -> None:
    router = {"hostDomainName": "example.com", "gateway": GATEWAY}
    made = build_http_route(app(), parse_expose({"router": router}), "b")
    assert "annotations" not in made["metadata"]


@pytest.mark.parametrize("text", ["10m", "1h30m", "0s", " 500ms "])
def test_build_http_route_timeout(app: Make, text: str) -> None:
    expose = parse_expose({"router": ROUTER | {"gateway": GATEWAY}})
    given = app()
    given.resource["metadata"]["annotations"] = {REQUEST_TIMEOUT: text}
    made = build_http_route(given, expose, "b")
    assert made["spec"]["rules"][0]["timeouts"] == {"request": text.strip()}
    assert REQUEST_TIMEOUT not in made["metadata"]["annotations"]


@pytest.mark.parametrize(
    "text", ["10", "-1s", "1.5h", "123456s", "1h1m1s1ms1h", "10m x", "\u0661s"]
)
def test_build_http_route_timeout_invalid(app: Make, text: str) -> None:
    expose = parse_expose({"router": ROUTER | {"gateway": GATEWAY}})
    given = app()
    given.resource["metadata"]["annotations"] = {REQUEST_TIMEOUT: text}
    with pytest.raises(NimError, match=r"annotations\[nimops\.nim/request-timeout\]") as raised:
        build_http_route(given, expose, "b")
    assert raised.value.reason == "InvalidAnnotation"


def test_build_grpc_route_without_port(app: Make) -> None:
    expose = parse_expose({"router": ROUTER | {"gateway": GATEWAY}})
    with pytest.raises(NimError, match=r"spec\.expose\.service\.grpcPort must be set") as raised:
        build_grpc_route(app(), expose, "b")
    assert raised.value.reason == "GRPCRouteFailed"


def limited(app: Make, **spec: t.Any) -> App:
    switches = {"NIMOPS_INGRESS_ANNOTATIONS": "ok", "NIMOPS_POD_LABELS": "ok"}
    return app(**spec).at(Observed({"operator": {"switches": switches}}))


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({}, [], id="nothing is exposed"),
        pytest.param({"ingress": LEGACY}, ["spec.annotations", "ingress.annotations"], id="legacy"),
        pytest.param(
            {"router": ROUTER | {"ingress": INGRESS}},
            ["spec.annotations", "router.annotations"],
            id="router",
        ),
        pytest.param(
            {"ingress": LEGACY, "router": ROUTER | {"gateway": GATEWAY}},
            ["spec.annotations", "ingress.annotations", "router.annotations"],
            id="legacy and gateway",
        ),
    ],
)
def test_annotation_violations(app: Make, fields: Json, wanted: list[str]) -> None:
    context = limited(app, annotations={"a": "1", "ok": "1"})
    found = [
        violation.partition(": ")[0]
        for violation in annotation_violations(context, parse_expose(fields))
    ]
    assert [item.removeprefix("spec.expose.") for item in found] == wanted


def test_label_violations(app: Make) -> None:
    context = limited(app, labels={"team": "a", "ok": "1", "app.kubernetes.io/name": "b"})
    expose = parse_expose({"service": {"labels": {"tier": "a"}}})
    found = [violation.split(" is ")[0] for violation in label_violations(context, expose)]
    assert found == ['spec.labels: "team"', 'spec.expose.service.labels: "tier"']
    assert len(label_violations(context, None)) == 1
