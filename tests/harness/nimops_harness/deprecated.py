# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Requests of deprecated APIs, from an API server's metrics and the sandbox's audit log."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from .cluster import Api, Json
from .errors import HarnessError
from .metrics import parse_samples

_METRIC = "apiserver_requested_deprecated_apis"
# Their requests are not ours: the controllers keep what Kubernetes still serves.
_COMPONENTS = ("kube-apiserver/", "kube-controller-manager/", "kube-scheduler/", "kwok/")


def find_deprecated(metrics: str, events: t.Iterable[Json]) -> list[str]:
    """The requests of deprecated APIs, except for those of Kubernetes' own components.

    events: of the audit log. An API of the metrics without any event is also in the result: its
    client is unknown.
    """
    samples = (labels for name, labels, _ in parse_samples(metrics) if name == _METRIC)
    known = {(it["group"], it["version"], it["resource"]) for it in samples}
    unseen, found = set(known), set()
    for event in events:
        where = event.get("objectRef") or {}
        api = (where.get("apiGroup", ""), where.get("apiVersion", ""), where.get("resource", ""))
        unseen.discard(api)
        is_deprecated = api in known or "k8s.io/deprecated" in (event.get("annotations") or {})
        agent = event.get("userAgent", "")
        if is_deprecated and not agent.startswith(_COMPONENTS):
            found.add(f"{agent}: {event['verb']} {event['requestURI']}")
    unknown = ("/".join(filter(None, api)) for api in unseen)
    return sorted(found) + sorted(
        f"unknown: {api}, which sandbox/audit.yaml lacks" for api in unknown
    )


def require_current_apis(api: Api, directory: Path) -> None:
    """HarnessError with the requests of deprecated APIs of the sandbox in this directory."""
    lines = (directory / "logs/audit.log").read_text().splitlines()
    found = find_deprecated(api.read_text("/metrics"), map(json.loads, lines))
    if found:
        raise HarnessError("deprecated APIs were requested:\n" + "\n".join(found))
