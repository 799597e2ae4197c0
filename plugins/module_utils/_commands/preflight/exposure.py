# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Ingresses and routes: their classes, gateways and listeners."""

from __future__ import annotations

from ..._base.types import Fields, Json
from ..._engine.api_resources import ObjectKey as Key
from ..._engine.label_selector import selector_of
from .check import Reporter
from .facts import ClusterFacts
from .workloads import Planned, Rendered

ROUTES = ("GRPCRoute", "HTTPRoute")
_DEFAULT = "ingressclass.kubernetes.io/is-default-class"
_LEGACY = "kubernetes.io/ingress.class"
_GATEWAY_GROUP = "gateway.networking.k8s.io"


def check_exposure(rendered: Rendered, facts: ClusterFacts) -> list[Reporter]:
    """Check how resources are reached from outside; the API server accepts any of this."""
    reporters = []
    for item in rendered.planned:
        kind = item.key.kind
        reporter = Reporter(item.parent, "ingress" if kind == "Ingress" else "gateway")
        if kind == "Ingress":
            _check_ingress(reporter, item, facts)
        elif kind in ROUTES:
            for reference in gateways_of(item.manifest):
                _check_gateway(reporter, item, reference, facts)
        reporters.append(reporter)
    return reporters


def _check_ingress(reporter: Reporter, item: Planned, facts: ClusterFacts) -> None:
    if not facts.lists_known("IngressClass"):
        return
    classes = {it["metadata"]["name"]: it for it in facts.items("IngressClass")}
    name = (item.manifest.get("spec") or {}).get("ingressClassName")
    known = ", ".join(sorted(classes))
    remedy = (
        f"set ingressClassName to one of: {known}" if known else "install an Ingress controller"
    )
    if name and name not in classes:
        reporter.warn(
            f"the IngressClass {name} does not exist, so nothing serves Ingress {item.key.name}",
            f"install its controller, or {remedy}" if known else "install its controller",
        )
    elif name:
        reporter.ok(f"IngressClass {name} exists")
    elif _LEGACY in (item.manifest["metadata"].get("annotations") or {}):
        return
    elif any(_is_default(it) for it in classes.values()):
        reporter.ok(f"the default IngressClass serves Ingress {item.key.name}")
    else:
        reporter.warn(
            f"Ingress {item.key.name} has no IngressClass, and there is no default IngressClass",
            remedy,
        )


def _is_default(found: Json) -> bool:
    return (found["metadata"].get("annotations") or {}).get(_DEFAULT) == "true"


def gateways_of(route: Json) -> list[Json]:
    """The references of a route to Gateways, with their namespace."""
    own = route["metadata"].get("namespace") or ""
    return [
        {**item, "namespace": item.get("namespace") or own}
        for item in (route.get("spec") or {}).get("parentRefs") or []
        if item.get("kind", "Gateway") == "Gateway"
        and item.get("group", _GATEWAY_GROUP) == _GATEWAY_GROUP
    ]


def class_of(gateway: Fields) -> str:
    """The name of the GatewayClass of a Gateway."""
    return str((gateway.get("spec") or {}).get("gatewayClassName") or "")


def _check_gateway(reporter: Reporter, item: Planned, reference: Json, facts: ClusterFacts) -> None:
    key = Key("Gateway", reference["namespace"], str(reference.get("name") or ""))
    if not facts.knows(key):
        return
    name = f"Gateway {key.namespace}/{key.name}"
    gateway = facts.find(*key)
    if gateway is None:
        reporter.warn(
            f"{name} does not exist, so nothing serves {item.key.kind} {item.key.name}",
            "create it, or correct expose.router.gateway in the spec",
        )
        return
    if facts.is_missing("GatewayClass", "", class_of(gateway)):
        reporter.warn(
            f"{name}: the GatewayClass {class_of(gateway)} does not exist, so nothing serves it",
            "install the controller of the class, or change the Gateway",
        )
        return
    named = [
        listener
        for listener in (gateway.get("spec") or {}).get("listeners") or []
        if reference.get("sectionName") in (None, listener.get("name"))
        and reference.get("port") in (None, listener.get("port"))
    ]
    if not named:
        section = reference.get("sectionName") or reference.get("port") or ""
        reporter.warn(f"{name} has no listener {section}", "add it, or correct the spec")
    elif not any(_allows(listener, item, key.namespace, facts) for listener in named):
        reporter.warn(
            f"no listener of {name} allows {item.key.kind}s of namespace {item.key.namespace}",
            "change allowedRoutes of a listener",
        )
    else:
        reporter.ok(f"{name} has a listener for {item.key.kind} {item.key.name}")


def _allows(listener: Json, item: Planned, namespace: str, facts: ClusterFacts) -> bool:
    allowed = listener.get("allowedRoutes") or {}
    kinds = [kind.get("kind") for kind in allowed.get("kinds") or []]
    if kinds and item.key.kind not in kinds:
        return False
    given = allowed.get("namespaces") or {}
    where = given.get("from", "Same")
    if where == "Same":
        return item.key.namespace == namespace
    if where != "Selector":
        return bool(where == "All")
    found = facts.find("Namespace", "", item.key.namespace) or {"metadata": {}}
    selector = selector_of(given.get("selector"))
    return bool(selector and selector.selects(found["metadata"].get("labels")))
