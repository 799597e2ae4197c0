# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoints import (
    cluster_endpoint,
    external_endpoint,
)

GATEWAY = {"gateway": {"name": "g", "namespace": "gw"}, "hostDomainName": "example.com"}
BALANCED = {"service": {"type": "LoadBalancer", "port": 80}}


@pytest.mark.parametrize(
    ("address", "port", "wanted"),
    [
        pytest.param("10.0.0.1", 8000, "10.0.0.1:8000", id="IPv4"),
        pytest.param("fd00::1", 8000, "[fd00::1]:8000", id="IPv6"),
        pytest.param("", 8000, "", id="no address yet"),
        pytest.param("None", 8000, "", id="headless"),
        pytest.param("10.0.0.1", 9000, "", id="the port is not there yet"),
    ],
)
def test_cluster_endpoint(make, address, port, wanted):
    live = make.with_address(make.cr(), address)
    cr = make.cr({"expose": {"service": {"port": port}}})
    assert cluster_endpoint(make.app(cr, live)) == wanted


@pytest.mark.parametrize("owners", [[], [{"controller": True, "kind": "NIMService", "uid": "u2"}]])
def test_cluster_endpoint_foreign_service(make, owners):
    live = make.with_address(make.cr())
    live["metadata"]["ownerReferences"] = owners
    assert cluster_endpoint(make.app(None, live)) == ""


def test_cluster_endpoint_without_service(make):
    assert cluster_endpoint(make.app()) == ""


def ingress(host="", service="llm", **given):
    paths = [{"backend": {"service": {"name": service}}}]
    return {
        "kind": "Ingress",
        "metadata": {"name": "llm"},
        "spec": {
            "rules": [
                {"http": {"paths": paths}},
                {"host": "other"},
                {"host": host, "http": {"paths": paths}},
            ]
        },
        "status": {"loadBalancer": {"ingress": [given] if given else []}},
    }


LEGACY = {"ingress": {"enabled": True}}


ENDPOINT_CASES = {
    "nothing": ({}, None, ""),
    "ingress rule": (LEGACY, ingress("h.example", ip="1.2.3.4"), "h.example"),
    "ingress host name": (LEGACY, ingress("", hostname="lb.example", ip="1.2.3.4"), "lb.example"),
    "ingress address": (LEGACY, ingress("x", "other", ip="1.2.3.4"), "1.2.3.4"),
    "ingress without any": (LEGACY, ingress(), ""),
    "ingress not there": (LEGACY | BALANCED, None, ""),
    "load balancer address": (BALANCED, {"ip": "1.2.3.4"}, "1.2.3.4:80"),
    "load balancer IPv6 address": (BALANCED, {"ip": "fd00::1"}, "[fd00::1]:80"),
    "load balancer name": (BALANCED, {"hostname": "lb.example", "ip": "1.2.3.4"}, "lb.example:80"),
    "load balancer pending": (BALANCED, None, ""),
    "gateway": ({"router": GATEWAY}, None, "llm.ns.example.com"),
    "load balancer before gateway": (
        BALANCED | {"router": GATEWAY},
        {"ip": "1.2.3.4"},
        "1.2.3.4:80",
    ),
}


@pytest.mark.parametrize(("expose", "live", "wanted"), ENDPOINT_CASES.values(), ids=ENDPOINT_CASES)
def test_external_endpoint(make, expose, live, wanted):
    cr = make.cr({"expose": expose})
    if live and "kind" not in live:
        live = make.with_address(cr) | {"status": {"loadBalancer": {"ingress": [live]}}}
    assert external_endpoint(make.app(cr, *([live] if live else []))) == wanted
