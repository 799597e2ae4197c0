# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The endpoints of the model, inside and outside the cluster."""

from __future__ import annotations

from ..._base.types import Fields
from ..._builders.expose import route_host
from .app import NIMServiceApp
from .expose.service import service_name
from .kserve.status import cluster_url, external_url, is_in_namespace
from .workload import live_workload


def cluster_endpoint(app: NIMServiceApp) -> str:
    """`<address>:<port>` of the Service, or the URL that KServe reports.

    Empty until the Service has an address and the port of the spec. Also empty if this resource
    does not control the Service: the operator must not contact a foreign server.
    """
    if app.spec.is_kserve:
        url = cluster_url(_own(app, live_workload(app)))
        return url if is_in_namespace(url, app.namespace) else ""
    service = _own(app, app.live("Service", service_name(app)))
    spec = (service or {}).get("spec") or {}
    address, port = spec.get("clusterIP") or "", app.spec.expose.ports["api"]
    if address in ("", "None") or not _serves(spec, port):
        return ""
    return f"{_host(address)}:{port}"


def external_endpoint(app: NIMServiceApp) -> str:
    """The host of the Ingress, load balancer or routes, or the URL that KServe reports.

    Empty if the model is not exposed.
    """
    if app.spec.is_kserve:
        return external_url(live_workload(app))
    expose = app.spec.expose
    if "Ingress" in expose.kinds:
        ingress = app.live("Ingress") or {}
        return _rule_host(ingress, service_name(app)) or _balancer_address(ingress)
    if expose.service_type == "LoadBalancer":
        service = app.live("Service", service_name(app)) or {}
        if address := _balancer_address(service):
            return f"{_host(address)}:{expose.ports['api']}"
    return route_host(app, expose) if expose.kinds else ""


def missing_endpoint(app: NIMServiceApp) -> str:
    """The reason why the model server cannot be contacted yet; empty if it can."""
    endpoint = cluster_endpoint(app)
    if not app.spec.is_kserve:
        reason = f'Service "{service_name(app)}" has no cluster IP yet, needed to query the model'
        return "" if endpoint else reason
    missing = {"external": external_endpoint(app), "cluster": endpoint}
    which = next((which for which, url in missing.items() if not url), "")
    return f"{which} endpoint not available, nimservice {app.name}" if which else ""


def _own(app: NIMServiceApp, live: Fields | None) -> Fields | None:
    return live if app.controls(live) else None


def _serves(service: Fields, port: int) -> bool:
    return any(
        item.get("name") == "api" and item.get("port") == port
        for item in service.get("ports") or []
    )


def _host(address: str) -> str:
    """The host part of an address; IPv6 addresses need brackets before a port."""
    return f"[{address}]" if ":" in address else address


def _rule_host(ingress: Fields, service: str) -> str:
    """The host of the first rule that routes to the Service."""
    for rule in (ingress.get("spec") or {}).get("rules") or []:
        backends = [
            (path.get("backend") or {}).get("service") or {}
            for path in (rule.get("http") or {}).get("paths") or []
        ]
        if rule.get("host") and any(backend.get("name") == service for backend in backends):
            return str(rule["host"])
    return ""


def _balancer_address(live: Fields) -> str:
    """The host name or address of the load balancer, empty until it is assigned."""
    balancer = (live.get("status") or {}).get("loadBalancer") or {}
    given: Fields = next(iter(balancer.get("ingress") or []), {})
    return str(given.get("hostname") or given.get("ip") or "")
