# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.expose import (
    Expose,
    annotation_faults,
    build_http_route,
    build_ingress,
    label_faults,
    route_host,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

Json = dict[str, t.Any]
Make = t.Callable[..., App]

LEGACY = {"enabled": True, "spec": {"ingressClassName": "old"}, "annotations": {"l": "1"}}
ROUTER = {"hostDomainName": "example.com.", "annotations": {"r": "1"}}
INGRESS = {"ingressClass": "nginx"}
GATEWAY = {"name": "gw", "namespace": "infra"}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({}, (False, False, False), id="nothing"),
        pytest.param({"ingress": LEGACY}, (True, False, False), id="legacy"),
        pytest.param({"ingress": LEGACY | {"enabled": False}}, (False, False, False), id="off"),
        pytest.param({"router": {"ingress": INGRESS}}, (True, False, False), id="router"),
        pytest.param({"router": {"gateway": GATEWAY}}, (False, True, False), id="gateway"),
        pytest.param(
            {"router": {"gateway": GATEWAY | {"httpRoutesEnabled": False}}},
            (False, False, False),
            id="gateway without routes",
        ),
        pytest.param(
            {"router": {"gateway": GATEWAY | {"grpcRoutesEnabled": True}}},
            (False, True, True),
            id="both routes",
        ),
        pytest.param(
            {"ingress": LEGACY, "router": {"gateway": GATEWAY}}, (True, True, False), id="both"
        ),
    ],
)
def test_what_is_wanted(fields: Json, wanted: tuple[bool, ...]) -> None:
    found = Expose(fields)
    assert (found.has_ingress, found.has_http_route, found.has_grpc_route) == wanted


def test_port() -> None:
    assert Expose({}).port == 8000
    assert Expose({"service": {"port": 80}}).port == 80


def test_host(app: Make) -> None:
    assert route_host(app(), Expose({"router": ROUTER})) == "a.ns.example.com"
    with pytest.raises(NimError, match="hostDomainName is required"):
        route_host(app(), Expose({"router": {"gateway": GATEWAY}}))


def test_deprecated_ingress_counts(app: Make) -> None:
    both = Expose({"ingress": LEGACY, "router": ROUTER | {"ingress": INGRESS}})
    found = build_ingress(app(), both, "a", lambda given: {"ingressClassName": "legacy", **given})
    assert found["spec"] == {"ingressClassName": "old"}
    assert found["metadata"]["annotations"] == {"l": "1"}
    only = Expose({"router": ROUTER | {"ingress": INGRESS}})
    found = build_ingress(app(), only, "a", lambda given: {})
    assert found["spec"]["ingressClassName"] == "nginx"
    assert found["metadata"]["annotations"] == {"r": "1"}


@pytest.mark.parametrize("backend", [None, {"name": "other", "port": 1, "weight": 0}])
def test_backend_of_the_route(app: Make, backend: Json | None) -> None:
    gateway = GATEWAY | ({"backendRef": backend} if backend else {})
    found = build_http_route(app(), Expose({"router": ROUTER | {"gateway": gateway}}), "a", 80)
    (rule,) = found["spec"]["rules"]
    assert rule["backendRefs"] == [backend or {"name": "a", "port": 80}]


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
def test_forbidden_annotations(app: Make, fields: Json, wanted: list[str]) -> None:
    context = limited(app, annotations={"a": "1", "ok": "1"})
    found = [fault.partition(": ")[0] for fault in annotation_faults(context, Expose(fields))]
    assert [item.removeprefix("spec.expose.") for item in found] == wanted


def test_forbidden_labels(app: Make) -> None:
    context = limited(app, labels={"team": "a", "ok": "1", "app.kubernetes.io/name": "b"})
    expose = Expose({"service": {"labels": {"tier": "a"}}})
    found = [fault.split(" is ")[0] for fault in label_faults(context, expose)]
    assert found == ['spec.labels: "team"', 'spec.expose.service.labels: "tier"']
    assert len(label_faults(context, None)) == 1
