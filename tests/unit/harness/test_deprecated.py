# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Who requested deprecated APIs, from metrics and audit events."""

from __future__ import annotations

import typing as t

import pytest
from nimops_harness.deprecated import find_deprecated

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
