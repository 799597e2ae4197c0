# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of ours has requested a deprecated API since the sandbox of $KUBECONFIG started.

It runs after the other tests, and also sees the requests of the operator, of modules and commands,
of Helm and kubectl.
"""

from __future__ import annotations

import json
import os
import sys
import typing as t
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "harness"))

from nimops_harness.cluster import Api, Json
from nimops_harness.metrics import parse_samples

AUDIT_LOG = Path(os.environ.get("KUBECONFIG", "")).parent / "logs/audit.log"
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


METRICS = """
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_request_total{group="",resource="pods",version="v1"} 7
"""


def event(agent: str, resource: str = "endpoints", **more: t.Any) -> dict[str, t.Any]:
    where = {"resource": resource, "apiVersion": "v1"}
    uri = f"/api/v1/{resource}"
    return {"userAgent": agent, "verb": "list", "requestURI": uri, "objectRef": where, **more}


CONTROLLER = event("kube-controller-manager/v1.2.3 (linux/amd64) kubernetes/abc")


@pytest.mark.parametrize(
    ("metrics", "events", "expected"),
    [
        pytest.param("", [], [], id="nothing"),
        pytest.param(METRICS, [CONTROLLER, event("helm/v3", "pods")], [], id="components"),
        pytest.param(
            METRICS, [CONTROLLER, event("helm/v3")], ["helm/v3: list /api/v1/endpoints"], id="ours"
        ),
        pytest.param(
            "", [event("helm/v3", annotations={"k8s.io/deprecated": "true"})],
            ["helm/v3: list /api/v1/endpoints"],
            id="before the API server's restart",
        ),
        pytest.param(
            METRICS, [], ["unknown: v1/endpoints, which sandbox/audit.yaml lacks"], id="not audited"
        ),
        pytest.param(
            METRICS, [{"userAgent": "", "verb": "get", "requestURI": "/"}, CONTROLLER], [], id="no object"
        ),
    ],
)  # fmt: skip
def test_find_deprecated(metrics: str, events: list[dict[str, t.Any]], expected: list[str]) -> None:
    assert find_deprecated(metrics, events) == expected


@pytest.mark.skipif(not AUDIT_LOG.exists(), reason="KUBECONFIG is not that of a sandbox")
def test_no_deprecated_apis() -> None:
    """The cases above show that this test can fail."""
    events = map(json.loads, AUDIT_LOG.read_text().splitlines())
    assert find_deprecated(Api().read_text("/metrics"), events) == []
