# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Where the model can be reached, from inside the cluster and from outside."""

from __future__ import annotations

import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.meta import is_controlled_by
from ansible_collections.nimops.nim.plugins.module_utils._common.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.features import (
    Resource,
    has_grpc_route,
    has_http_route,
    has_ingress,
    is_kserve,
    name_of,
    namespace_of,
    ports,
    service_spec,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.kserve.standing import (
    cluster_url,
    external_url,
    is_of_namespace,
)
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.routes import route_host
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.service import service_name
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.workload import live_workload

Manifest = t.Mapping[str, t.Any]


def cluster_endpoint(cr: Resource, observed: Observed) -> str:
    """`<address>:<port>` of the Service, or the URL that KServe gives.

    Empty while it has no address, or does not have the port yet that the spec gives; and where the
    object of that name is not this resource's, as nobody else's server is asked.
    """
    if is_kserve(cr):
        url = cluster_url(_own(cr, live_workload(cr, observed)))
        return url if is_of_namespace(url, namespace_of(cr)) else ""
    service = _own(cr, observed.object("Service", service_name(cr)))
    spec = (service or {}).get("spec") or {}
    address, port = spec.get("clusterIP") or "", ports(cr)["api"]
    if address in ("", "None") or not _serves(spec, port):
        return ""
    return f"{_host(address)}:{port}"


def external_endpoint(cr: Resource, observed: Observed) -> str:
    """The host of the Ingress, the load balancer or the gateway's routes; empty if none of them.

    On KServe, the URL that it gives.
    """
    if is_kserve(cr):
        return external_url(live_workload(cr, observed))
    if has_ingress(cr):
        ingress = observed.object("Ingress", name_of(cr)) or {}
        return _rule_host(ingress, service_name(cr)) or _balancer_address(ingress)
    if service_spec(cr).get("type") == "LoadBalancer":
        service = observed.object("Service", service_name(cr)) or {}
        if address := _balancer_address(service):
            return f"{_host(address)}:{ports(cr)['api']}"
    return route_host(cr) if has_http_route(cr) or has_grpc_route(cr) else ""


def missing_endpoint(cr: Resource, observed: Observed) -> str:
    """Why the model server cannot be asked yet, empty if it can."""
    endpoint = cluster_endpoint(cr, observed)
    if not is_kserve(cr):
        said = f'Service "{service_name(cr)}" has no cluster IP to ask for the model yet'
        return "" if endpoint else said
    missing = {"external": external_endpoint(cr, observed), "cluster": endpoint}
    which = next((which for which, url in missing.items() if not url), "")
    return f"{which} endpoint not available, nimservice {name_of(cr)}" if which else ""


def _own(cr: Resource, live: Manifest | None) -> Manifest | None:
    return live if live is not None and is_controlled_by(live, cr) else None


def _serves(service: Manifest, port: int) -> bool:
    return any(
        item.get("name") == "api" and item.get("port") == port
        for item in service.get("ports") or []
    )


def _host(address: str) -> str:
    """An IPv6 address stands in brackets before a port."""
    return f"[{address}]" if ":" in address else address


def _rule_host(ingress: Manifest, service: str) -> str:
    """The host of the first rule that leads to the Service."""
    for rule in (ingress.get("spec") or {}).get("rules") or []:
        backends = [
            (path.get("backend") or {}).get("service") or {}
            for path in (rule.get("http") or {}).get("paths") or []
        ]
        if rule.get("host") and any(backend.get("name") == service for backend in backends):
            return str(rule["host"])
    return ""


def _balancer_address(live: Manifest) -> str:
    """The host name or address that the cluster's load balancer has given."""
    balancer = (live.get("status") or {}).get("loadBalancer") or {}
    given: Manifest = next(iter(balancer.get("ingress") or []), {})
    return str(given.get("hostname") or given.get("ip") or "")
