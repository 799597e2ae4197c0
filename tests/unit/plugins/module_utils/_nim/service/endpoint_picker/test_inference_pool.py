# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.metadata import owner_reference
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.endpoint_picker.inference_pool import (
    build_picker_service,
    build_pool,
    lacks_port,
)


def picker(ports=None, **service):
    given = {"ports": ports} if ports else {"config": {}}
    return {"expose": {"service": service, "router": {"eppConfig": given}}}


def port(number, protocol="TCP", **fields):
    return {"containerPort": number, "protocol": protocol, **fields}


def test_build_pool_keeps_hash(make):
    """Without the hash, the reference operator panics after a rollback."""
    hashes = {"nvidia.com/last-applied-hash": "x", "nvidia.com/parent-spec-hash": "y"}
    made = build_pool(make.app(picker()))
    assert "annotations" not in made["metadata"]
    live = {**made, "metadata": {**made["metadata"], "annotations": hashes}}
    again = build_pool(make.app(picker(), live))
    assert again["metadata"]["annotations"] == {"nvidia.com/last-applied-hash": "x"}
    live = {**live, "spec": {**live["spec"], "targetPorts": [{"number": 9}]}}
    assert build_pool(make.app(picker(), live)) == made


SERVICE_PORTS = {
    "default": (None, [("grpc-ext-proc", 9002, "TCP"), ("http-metrics", 9090, "TCP")], False),
    "one without a name": ([port(9002)], [(None, 9002, "TCP")], False),
    "all of the user's": (
        [port(9002, name="a"), port(9003, name="grpc-health")],
        [("a", 9002, "TCP"), ("grpc-health", 9003, "TCP")],
        False,
    ),
    "no protocol": ([{"containerPort": 9002}], [(None, 9002, "TCP")], False),
    "another protocol": ([port(9002, "UDP")], [(None, 9002, "UDP")], True),
    "another number": ([port(9004)], [(None, 9004, "TCP")], True),
}


@pytest.mark.parametrize(
    ("ports", "wanted", "lacks"),
    SERVICE_PORTS.values(),
    ids=SERVICE_PORTS,
)
def test_build_picker_service_ports(make, ports, wanted, lacks):
    cr = make.cr(picker(ports))
    made = build_picker_service(make.app(cr))
    found = made["spec"]["ports"]
    assert [(item.get("name"), item["port"], item["protocol"]) for item in found] == wanted
    assert [item["targetPort"] for item in found] == [item["port"] for item in found]
    assert (made["spec"]["type"], made["spec"]["selector"]) == ("ClusterIP", {"app": "llm-epp"})
    assert lacks_port(make.app(cr)) is lacks


LWS = {"multiNode": {"parallelism": {"pipeline": 2}}}
PODS, LEADERS = {"app": "llm"}, {"app": "llm-lws", "nim-llm-role": "leader"}


@pytest.mark.parametrize(
    ("spec", "deployment", "labels", "number"),
    [
        pytest.param(picker(), False, PODS, 8000, id="default"),
        pytest.param(picker(port=9000, name="front"), False, PODS, 9000, id="another port"),
        pytest.param(picker([port(9100)]), False, PODS, 8000, id="another port of the picker"),
        pytest.param(picker() | LWS, False, LEADERS, 8000, id="groups"),
        pytest.param(picker() | LWS, True, PODS, 8000, id="as long as a Deployment serves"),
    ],
)
def test_build_pool(make, spec, deployment, labels, number):
    cr = make.cr(spec)
    metadata = {"name": "llm", "ownerReferences": [owner_reference(cr)]}
    live = [{"kind": "Deployment", "metadata": metadata}] if deployment else []
    made = build_pool(make.app(cr, *live))
    assert made["apiVersion"] == "inference.networking.k8s.io/v1"
    assert made["metadata"]["name"] == "llm"
    assert "annotations" not in made["metadata"]
    assert made["spec"] == {
        "selector": {"matchLabels": labels},
        "targetPorts": [{"number": number}],
        "endpointPickerRef": {"name": "llm-epp", "port": {"number": 9002}},
    }
