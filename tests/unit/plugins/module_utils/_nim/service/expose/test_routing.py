# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.expose.routing import (
    ROUTING,
    replaced_by_knative,
)

GATEWAY = {"name": "g", "namespace": "gw", "grpcRoutesEnabled": True}
FRONT = {"name": "front", "port": 80, "grpcPort": 81}


def expose(service=None, **router):
    return {
        "expose": {"service": service or {}, "router": {"hostDomainName": "example.com", **router}}
    }


def build(make, spec):
    """The wanted objects by kind."""
    app = make.app(spec)
    return {kind: build(app) for kind, is_wanted, build in ROUTING if is_wanted(app.spec)}


@pytest.mark.parametrize(
    ("service", "name", "ports"),
    [
        pytest.param({"grpcPort": 81}, "llm", (8000, 81), id="the Service"),
        pytest.param(FRONT, "front", (80, 81), id="its given name"),
    ],
)
def test_routing_routes(make, service, name, ports):
    made = build(make, expose(service, gateway=GATEWAY))
    assert list(made) == ["HTTPRoute", "GRPCRoute"]
    for route, port in zip(made.values(), ports, strict=True):
        assert route["metadata"]["name"] == "llm"
        assert route["spec"]["hostnames"] == ["llm.ns.example.com"]
        assert route["spec"]["rules"][0]["backendRefs"] == [{"name": name, "port": port}]


def test_routing_ingress(make):
    made = build(make, expose(FRONT, ingress={"ingressClass": "nginx"}))
    assert list(made) == ["Ingress"]
    (rule,) = made["Ingress"]["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    assert path["backend"] == {"service": {"name": "front", "port": {"name": "api"}}}


def test_routing_deprecated_ingress(make):
    spec = expose(ingress={"ingressClass": "nginx"}, annotations={"a": "1"})
    own = {"ingressClassName": "mine", "rules": [{"host": "h"}]}
    spec["expose"]["ingress"] = {"enabled": True, "spec": own, "annotations": {"b": "1"}}
    made = build(make, spec)["Ingress"]
    assert made["spec"] == own
    assert set(made["metadata"]["annotations"]) == {"openshift.io/required-scc", "b"}


def test_replaced_by_knative(make):
    given = make.app(expose(gateway=GATEWAY)).spec.expose
    refused = [field for field, is_set in replaced_by_knative(given).items() if is_set]
    assert refused == ["spec.expose.router.gateway"]
