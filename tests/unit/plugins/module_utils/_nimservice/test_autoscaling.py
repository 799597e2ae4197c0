# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nimservice.autoscaling import (
    build_autoscaler,
    choose_replicas,
)

SCALE = {"replicas": None, "scale": {"enabled": True, "hpa": {"minReplicas": 2, "maxReplicas": 5}}}
UNSET = {"replicas": None}
REPLICAS = {"f:spec": {"f:replicas": {}}}
OURS = {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": REPLICAS}
REFERENCE = {"manager": "manager", "operation": "Update", "fieldsV1": REPLICAS}
EDITED = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": REPLICAS}
SCALER = {
    "manager": "kube-controller-manager",
    "operation": "Update",
    "subresource": "scale",
    "fieldsV1": REPLICAS,
}
STATUS = {
    "manager": "kcm",
    "operation": "Update",
    "subresource": "status",
    "fieldsV1": {"f:status": {}},
}


def live(replicas: int, *entries: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"metadata": {"managedFields": list(entries)}, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("spec", "deployment", "wanted"),
    [
        pytest.param({"replicas": 3}, None, 3, id="create"),
        pytest.param({"replicas": 0}, None, 0, id="create asleep"),
        pytest.param({"replicas": 3}, live(1, OURS), 3, id="scale by the spec"),
        pytest.param({"replicas": 3}, live(5, SCALER), 3, id="undo a manual scale"),
        pytest.param({"replicas": 3}, live(5, SCALER, OURS), 3, id="autoscaling was switched off"),
        pytest.param(UNSET, None, None, id="create, unset"),
        pytest.param(UNSET, live(4, OURS), 4, id="unset later: keep what runs"),
        pytest.param(UNSET, live(4, REFERENCE), 4, id="unset, taken over: keep what runs"),
        pytest.param(UNSET, live(4, SCALER), None, id="unset, scaled by hand: theirs"),
        pytest.param(UNSET, live(4, OURS, SCALER), None, id="unset, scaled by hand to our value"),
        pytest.param(UNSET, live(0, OURS), 0, id="unset, asleep: stays asleep"),
        pytest.param(SCALE, None, 2, id="create with autoscaling"),
        pytest.param(SCALE, live(4, OURS), 4, id="autoscaling takes over: keep what runs"),
        pytest.param(
            SCALE, live(1, OURS, STATUS), 1, id="below the minimum: the autoscaler's work"
        ),
        pytest.param(SCALE, live(4, REFERENCE), 4, id="autoscaled, taken over before it acted"),
        pytest.param(SCALE, live(4, REFERENCE, SCALER), None, id="autoscaled, taken over after"),
        pytest.param(SCALE, live(4, EDITED), 4, id="edited by hand: co-owned at the live value"),
        pytest.param(SCALE, live(4, OURS, SCALER), None, id="the autoscaler wrote our value"),
        pytest.param(SCALE, live(5, SCALER), None, id="the autoscaler wrote another"),
        pytest.param(SCALE, live(0, OURS), 2, id="we put it to sleep: wake it"),
        pytest.param(SCALE, live(0, SCALER), None, id="put to sleep by hand: stays asleep"),
        pytest.param(SCALE, {"metadata": {}, "spec": {"replicas": 4}}, 4, id="no managed fields"),
    ],
)
def test_choose_replicas(make: t.Any, spec: t.Any, deployment: t.Any, wanted: int | None) -> None:
    assert choose_replicas(make.cr(spec), deployment) == wanted


def test_build_autoscaler(make: t.Any) -> None:
    metrics = [{"type": "Resource", "n": 1}, {"type": "Object"}, {"type": "Resource", "n": 2}]
    spec = {
        "annotations": {"a": "spec"},
        "scale": {
            "enabled": True,
            "annotations": {"a": "scale", "b": "scale"},
            "hpa": {"maxReplicas": 3, "metrics": metrics, "behavior": {"scaleUp": {}}},
        },
    }
    made = build_autoscaler(make.cr(spec), make.observe())
    assert made["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [metrics[1], metrics[0], metrics[2]],
        "behavior": {"scaleUp": {}},
    }
    assert made["metadata"]["annotations"]["a"] == "spec"
    assert made["metadata"]["annotations"]["b"] == "scale"
    assert spec["scale"]["hpa"]["metrics"] == metrics
