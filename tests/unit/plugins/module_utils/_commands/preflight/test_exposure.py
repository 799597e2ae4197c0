# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Ingresses, routes and Gateways."""

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.preflight.exposure import (
    check_exposure,
)

DEFAULT = {"ingressclass.kubernetes.io/is-default-class": "true"}


def ingress(name="nginx", **annotations):
    spec = {"ingressClassName": name} if name else {}
    metadata = {"name": "llm", "namespace": "nim", "annotations": annotations}
    return {"kind": "Ingress", "metadata": metadata, "spec": spec}


def ingress_class(name, **annotations):
    return {"metadata": {"name": name, "annotations": annotations}}


INGRESSES = {
    "exists": (ingress(), [ingress_class("nginx")], ["ok"]),
    "missing": (ingress(), [ingress_class("other")], ["warning"]),
    "default": (ingress(""), [ingress_class("other", **DEFAULT)], ["ok"]),
    "no default": (ingress(""), [ingress_class("other")], ["warning"]),
    "annotation": (ingress("", **{"kubernetes.io/ingress.class": "a"}), [], []),
    "not read": (ingress(), None, []),
}


@pytest.mark.parametrize("case", INGRESSES)
def test_check_exposure_of_ingress(make_rendered, make_facts, levels, case):
    item, classes, wanted = INGRESSES[case]
    lists = {} if classes is None else {"IngressClass": classes}
    found = levels(check_exposure(make_rendered(item), make_facts(lists=lists)))
    assert [level for level, _message in found] == wanted


def route(kind="HTTPRoute", **parent):
    references = [{"name": "public", "namespace": "edge", **parent}]
    metadata = {"name": "llm", "namespace": "nim"}
    return {"kind": kind, "metadata": metadata, "spec": {"parentRefs": references}}


def gateway(*listeners):
    spec = {"gatewayClassName": "envoy", "listeners": list(listeners)}
    return {"kind": "Gateway", "metadata": {"name": "public", "namespace": "edge"}, "spec": spec}


def listener(source="All", kinds=(), **selector):
    namespaces = {"from": source} | ({"selector": {"matchLabels": selector}} if selector else {})
    allowed = {"namespaces": namespaces, "kinds": [{"kind": kind} for kind in kinds]}
    return {"name": "https", "port": 443, "allowedRoutes": allowed}


ENVOY = {"kind": "GatewayClass", "metadata": {"name": "envoy"}}
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "nim", "labels": {"team": "a"}}}
GATEWAYS = {
    "serves": (route(), gateway(listener()), ENVOY, ["ok"]),
    "section": (route(sectionName="https"), gateway(listener()), ENVOY, ["ok"]),
    "another section": (route(sectionName="http"), gateway(listener()), ENVOY, ["warning"]),
    "another port": (route(port=80), gateway(listener()), ENVOY, ["warning"]),
    "its own namespace": (route(), gateway(listener("Same")), ENVOY, ["warning"]),
    "a selected namespace": (route(), gateway(listener("Selector", team="a")), ENVOY, ["ok"]),
    "other namespaces": (route(), gateway(listener("Selector", team="b")), ENVOY, ["warning"]),
    "another kind": (
        route("GRPCRoute"),
        gateway(listener(kinds=["HTTPRoute"])),
        ENVOY,
        ["warning"],
    ),
    "no class": (route(), gateway(listener()), None, ["warning"]),
    "no gateway": (route(), None, ENVOY, ["warning"]),
    "a Service": (route(kind="Service"), None, ENVOY, []),
}
GATEWAYS["a Service"][0]["kind"] = "HTTPRoute"
GATEWAYS["a Service"][0]["spec"]["parentRefs"][0]["kind"] = "Service"


@pytest.mark.parametrize("case", GATEWAYS)
def test_check_exposure_of_route(make_rendered, make_facts, levels, case):
    item, found, of_class, wanted = GATEWAYS[case]
    facts = make_facts(*filter(None, [found, of_class, NAMESPACE]))
    facts.objects.setdefault(("Gateway", "edge", "public"), None)
    facts.objects.setdefault(("GatewayClass", "", "envoy"), None)
    assert [it for it, _text in levels(check_exposure(make_rendered(item), facts))] == wanted
