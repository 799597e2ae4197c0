# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Conditions of routes, as controllers of gateways set them, in the verdict of a service."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.expose import parse_expose
from ansible_collections.nimops.nim.plugins.module_utils._builders.route_problems import with_routes
from ansible_collections.nimops.nim.plugins.module_utils._builders.verdict import (
    NOT_READY,
    READY,
    Verdict,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

Json = dict[str, t.Any]

GATEWAY = {"name": "gw", "namespace": "infra", "grpcRoutesEnabled": True}
POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "a"}
DONE = Verdict(READY, READY, "rolled out")


def condition(
    kind: str, reason: str, message: str = "", status: str = "False", of: int = 2
) -> Json:
    found = {"type": kind, "status": status, "reason": reason, "message": message}
    return found | {"observedGeneration": of}


def route(*conditions: Json) -> Json:
    good = condition("Accepted", "Accepted", status="True")
    parents = [{"conditions": [good]}, {"conditions": list(conditions)}]
    return {"metadata": {"generation": 2}, "status": {"parents": parents}}


def judge(gateway: Json, verdict: Verdict = DONE, **live: Json) -> Verdict:
    resource = {
        "apiVersion": "example.com/v1",
        "kind": "Toy",
        "metadata": {"name": "a", "namespace": "ns", "uid": "u"},
        "spec": {},
    }
    app = App(resource, Observed({f"{kind}/ns/a": item for kind, item in live.items()}))
    router = {"hostDomainName": "example.com", "gateway": gateway}
    return with_routes(app, parse_expose({"router": router}), verdict)


REFUSED = condition("Accepted", "NotAllowedByListeners", "not from ns")
UNRESOLVED = condition("ResolvedRefs", "InvalidKind", "no InferencePool")
OVERLAP = condition("RouteRulesOverlap", "RouteRulesOverlap", "with a", status="True")
CASES = {
    "accepted": (GATEWAY, {"HTTPRoute": route()}, ""),
    "not reported yet": (GATEWAY, {"HTTPRoute": {"metadata": {}}}, ""),
    "not read": (GATEWAY, {}, ""),
    "pending": (GATEWAY, {"HTTPRoute": route(condition("Accepted", "Pending"))}, ""),
    "older": (GATEWAY, {"HTTPRoute": route(REFUSED | {"observedGeneration": 1})}, ""),
    "no generation": (
        GATEWAY,
        {"HTTPRoute": route({k: v for k, v in REFUSED.items() if k != "observedGeneration"})},
        'HTTPRoute "a": the Gateway does not accept it: NotAllowedByListeners: not from ns'
        " (spec.expose.router.gateway)",
    ),
    "host": (
        GATEWAY,
        {"HTTPRoute": route(condition("Accepted", "NoMatchingListenerHostname"))},
        'HTTPRoute "a": the Gateway does not accept it: NoMatchingListenerHostname'
        " (spec.expose.router.hostDomainName)",
    ),
    "backend of the user": (
        GATEWAY | {"backendRef": POOL},
        {"HTTPRoute": route(UNRESOLVED)},
        'HTTPRoute "a": the Gateway cannot use its backend: InvalidKind: no InferencePool'
        " (spec.expose.router.gateway.backendRef)",
    ),
    "gRPC": (
        GATEWAY | {"backendRef": POOL},
        {"HTTPRoute": route(), "GRPCRoute": route(UNRESOLVED)},
        'GRPCRoute "a": the Gateway cannot use its backend: InvalidKind: no InferencePool'
        " (spec.expose.router.gateway)",
    ),
    "overlap": (
        GATEWAY,
        {"HTTPRoute": route(OVERLAP), "GRPCRoute": route(OVERLAP)},
        'GRPCRoute "a": another route has the same rules, and one of them gets all requests:'
        " RouteRulesOverlap: with a (spec.expose.router.gateway.httpRoutesEnabled)",
    ),
    "overlap with another route": (
        GATEWAY | {"grpcRoutesEnabled": False},
        {"HTTPRoute": route(OVERLAP)},
        'HTTPRoute "a": another route has the same rules, and one of them gets all requests:'
        " RouteRulesOverlap: with a (spec.expose.router.gateway)",
    ),
    "no overlap": (GATEWAY, {"HTTPRoute": route(OVERLAP | {"status": "False"})}, ""),
    "not wanted": (GATEWAY | {"grpcRoutesEnabled": False}, {"GRPCRoute": route(UNRESOLVED)}, ""),
    "of another kind": (GATEWAY, {"HTTPRoute": route(condition("PartiallyInvalid", "A"))}, ""),
}


@pytest.mark.parametrize(("gateway", "live", "wanted"), CASES.values(), ids=CASES)
def test_with_routes(gateway: Json, live: Json, wanted: str) -> None:
    found = judge(gateway, **live)
    assert (found.state, found.message, found.waiting) == (READY, "rolled out", wanted)
    assert (found.requeue.after, found.requeue.slow) == (bool(wanted), bool(wanted))
    assert found.stalled == ""


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(Verdict(NOT_READY, NOT_READY, "starting"), id="not ready"),
        pytest.param(Verdict(READY, READY, "up", waiting="Endpoint picker: …"), id="waiting"),
    ],
)
def test_with_routes_other_problems_first(verdict: Verdict) -> None:
    assert judge(GATEWAY, verdict, HTTPRoute=route(REFUSED)) == verdict
