# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest

API = {"name": "api", "protocol": "TCP", "targetPort": "api"}
SELECTORS = {
    "NemoDatastore": ["app.kubernetes.io/instance", "app.kubernetes.io/name"],
    "NemoEntitystore": ["app", "app.kubernetes.io/instance", "app.kubernetes.io/name"],
    "NemoEvaluator": ["app.kubernetes.io/name"],
    "NemoGuardrail": ["app", "app.kubernetes.io/instance", "app.kubernetes.io/name"],
}
PORTS = {
    "NemoDatastore": 3000,
    "NemoEntitystore": 8000,
    "NemoEvaluator": 7331,
    "NemoGuardrail": 8000,
}


@pytest.mark.parametrize("kind", SELECTORS)
def test_selectors_and_ports(nemo: t.Any, kind: str) -> None:
    made = nemo.made(kind)
    service, deployment = made["Service"]["spec"], made["Deployment"]["spec"]
    assert service["selector"] == dict.fromkeys(SELECTORS[kind], "x")
    assert service["ports"] == [API | {"port": 8000}]
    assert deployment["selector"] == {"matchLabels": {"app": "x"}}
    (container,) = deployment["template"]["spec"]["containers"]
    assert container["name"] == "x-ctr"
    assert container["ports"] == [{"name": "api", "containerPort": PORTS[kind], "protocol": "TCP"}]
    assert service["selector"].items() <= deployment["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("given", "user", "group"),
    [
        pytest.param({}, 1000, 2000, id="defaults"),
        pytest.param({"userID": 7, "groupID": 8}, 7, 8, id="given"),
        pytest.param({"userID": 0, "groupID": 0}, 0, 0, id="zero counts"),
    ],
)
def test_pod_security(nemo: t.Any, given: t.Any, user: int, group: int) -> None:
    wanted = {"runAsUser": user, "runAsGroup": group, "fsGroup": group}
    assert nemo.pod("NemoEvaluator", given)["securityContext"] == wanted
    wanted = {"fsGroup": given.get("groupID", 1000)}
    assert nemo.pod("NemoDatastore", given)["securityContext"] == wanted


@pytest.mark.parametrize(
    ("spec", "live", "wanted"),
    [
        pytest.param({}, None, None, id="unset"),
        pytest.param({"replicas": 3}, 5, 3, id="given"),
        pytest.param({"scale": {"enabled": True, "hpa": {}}}, None, 1, id="autoscaler, new"),
        pytest.param({"scale": {"enabled": True, "hpa": {}}}, 5, 5, id="autoscaler, running"),
        pytest.param({"scale": {"enabled": False, "hpa": {}}, "replicas": 2}, 5, 2, id="off"),
    ],
)
def test_replicas(nemo: t.Any, spec: t.Any, live: int | None, wanted: int | None) -> None:
    found = nemo.made("NemoEntitystore")["Deployment"]
    running = found | {"spec": found["spec"] | {"replicas": live}}
    observed = nemo.observe(*([running] if live else []))
    made = nemo.made("NemoEntitystore", spec, observed)["Deployment"]
    assert made["spec"].get("replicas") == wanted
