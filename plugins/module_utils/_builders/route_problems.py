# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Why a gateway does not serve a route, from the conditions that its controller sets."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._base.types import Fields, Manifest
from .._engine.desired import Requeue
from .app import App
from .expose import BACKEND_FIELDS, GATEWAY_FIELD, HOST_FIELD, Expose
from .pod_problems import describe
from .verdict import READY, Verdict

_ROUTES = ("HTTPRoute", "GRPCRoute")
_PENDING = "Pending"
_OF_HOST = "NoMatchingListenerHostname"
_OVERLAP = "RouteRulesOverlap"
_CONDITIONS = {
    ("Accepted", "False"): "the Gateway does not accept it",
    ("ResolvedRefs", "False"): "the Gateway cannot use its backend",
    (_OVERLAP, "True"): "another route has the same rules, and one of them gets all requests",
}
"""type and status of a condition → what it means"""


def with_routes(app: App, expose: Expose, verdict: Verdict) -> Verdict:
    """Report in addition a route that is not served: the Service is Ready without it.

    A correction of the Gateway changes no object of ours, so requeue from time to time.
    """
    if verdict.state != READY or verdict.waiting or not (problem := route_problem(app, expose)):
        return verdict
    return replace(verdict, waiting=problem, requeue=Requeue(after=True, slow=True))


def route_problem(app: App, expose: Expose) -> str:
    """Why the first route that has a problem is not served; empty if none is known.

    A route that no controller has reported on has none: most Gateways take a moment.
    """
    for kind in _ROUTES:
        live = app.live(kind) if kind in expose.kinds else None
        for condition in _conditions_of(live or {}):
            if (
                kind == "HTTPRoute"
                and condition["type"] == _OVERLAP
                and "GRPCRoute" in expose.kinds
            ):
                continue  # of the GRPCRoute, which is the one that gets none
            if why := _CONDITIONS.get((condition["type"], condition["status"])):
                field = _field_of(kind, condition, expose)
                return f'{kind} "{app.name}": {why}: {describe(condition)} ({field})'
    return ""


def _conditions_of(route: Manifest) -> t.Iterator[Fields]:
    """The conditions of all parents that are known for the present spec."""
    generation = (route.get("metadata") or {}).get("generation", 0)
    for parent in (route.get("status") or {}).get("parents") or []:
        for condition in parent.get("conditions") or []:
            is_present = condition.get("observedGeneration", generation) >= generation
            if is_present and "status" in condition and condition.get("reason") != _PENDING:
                yield condition


def _field_of(kind: str, condition: Fields, expose: Expose) -> str:
    if condition["type"] == _OVERLAP and kind == "GRPCRoute" and "HTTPRoute" in expose.kinds:
        return f"{GATEWAY_FIELD}.httpRoutesEnabled"
    if condition["type"] == "ResolvedRefs" and kind == "HTTPRoute":
        return BACKEND_FIELDS[kind] if expose.gateway.get("backendRef") else GATEWAY_FIELD
    return HOST_FIELD if condition.get("reason") == _OF_HOST else GATEWAY_FIELD
