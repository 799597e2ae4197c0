# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.autoscaler import (
    build_autoscaler,
    choose_replicas,
    keep_aimed,
    min_replicas,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Child
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed

HPA = {"minReplicas": 2, "maxReplicas": 5}
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
    ("given", "hpa", "deployment", "wanted"),
    [
        pytest.param(3, None, None, 3, id="create"),
        pytest.param(0, None, None, 0, id="create asleep"),
        pytest.param(3, None, live(1, OURS), 3, id="scale by the spec"),
        pytest.param(3, None, live(5, SCALER), 3, id="undo a manual scale"),
        pytest.param(3, None, live(5, SCALER, OURS), 3, id="autoscaling was switched off"),
        pytest.param(None, None, None, None, id="create, unset"),
        pytest.param(None, None, live(4, OURS), 4, id="unset later: keep what runs"),
        pytest.param(None, None, live(4, REFERENCE), 4, id="unset, taken over: keep what runs"),
        pytest.param(None, None, live(4, SCALER), None, id="unset, scaled by hand: theirs"),
        pytest.param(
            None, None, live(4, OURS, SCALER), None, id="unset, scaled by hand to our value"
        ),
        pytest.param(None, None, live(0, OURS), 0, id="unset, asleep: stays asleep"),
        pytest.param(None, HPA, None, 2, id="create with autoscaling"),
        pytest.param(None, HPA, live(4, OURS), 4, id="autoscaling takes over: keep what runs"),
        pytest.param(
            None, HPA, live(1, OURS, STATUS), 1, id="below the minimum: the autoscaler's work"
        ),
        pytest.param(None, HPA, live(4, REFERENCE), 4, id="autoscaled, taken over before it acted"),
        pytest.param(
            None, HPA, live(4, REFERENCE, SCALER), None, id="autoscaled, taken over after"
        ),
        pytest.param(
            None, HPA, live(4, EDITED), 4, id="edited by hand: co-owned at the live value"
        ),
        pytest.param(None, HPA, live(4, OURS, SCALER), None, id="the autoscaler wrote our value"),
        pytest.param(None, HPA, live(5, SCALER), None, id="the autoscaler wrote another"),
        pytest.param(None, HPA, live(0, OURS), 2, id="we put it to sleep: wake it"),
        pytest.param(None, HPA, live(0, SCALER), None, id="put to sleep by hand: stays asleep"),
        pytest.param(
            None, HPA, {"metadata": {}, "spec": {"replicas": 4}}, 4, id="no managed fields"
        ),
    ],
)
def test_choose_replicas(
    given: int | None, hpa: t.Any, deployment: t.Any, wanted: int | None
) -> None:
    assert choose_replicas(deployment, given, hpa) == wanted


@pytest.mark.parametrize("given", [{}, {"minReplicas": None}, {"minReplicas": 0}])
def test_min_replicas_default(given: t.Any) -> None:
    assert min_replicas(given) == 1
    assert choose_replicas(None, None, given) == 1


def test_build_autoscaler(app: t.Any) -> None:
    metrics = [{"type": "Resource", "n": 1}, {"type": "Object"}, {"type": "Resource", "n": 2}]
    given = {"maxReplicas": 3, "metrics": metrics, "behavior": {"scaleUp": {}}}
    made = build_autoscaler(app(annotations={"a": "spec"}), given, {"a": "scale", "b": "scale"})
    assert made["spec"] == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [metrics[1], metrics[0], metrics[2]],
        "behavior": {"scaleUp": {}},
    }
    assert made["metadata"]["annotations"] == {"a": "spec", "b": "scale"}
    assert [metric["type"] for metric in metrics] == ["Resource", "Object", "Resource"]


def test_build_autoscaler_without_metrics(app: t.Any) -> None:
    assert build_autoscaler(app(), {})["spec"].keys() == {
        "scaleTargetRef", "minReplicas", "maxReplicas",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(None, [], id="no workload yet"),
        pytest.param({"metadata": {"name": "llm", "uid": "theirs"}}, [], id="somebody else's"),
        pytest.param(
            {"metadata": {"ownerReferences": [{"uid": "u", "controller": True}]}},
            ["HorizontalPodAutoscaler"],
            id="ours",
        ),
    ],
)
def test_keep_aimed_without_workload(found: t.Any, expected: list[str]) -> None:
    cr = {
        "apiVersion": "v",
        "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "ns", "uid": "u"},
        "spec": {},
    }
    app = App(cr, Observed({"Deployment/ns/llm": found}))
    scaler = Child(build_autoscaler(app, HPA))
    assert [child.manifest["kind"] for child in keep_aimed(app, [scaler])] == expected
    made = Child(app.child("Deployment", {}))
    assert keep_aimed(app, [scaler, made]) == [scaler, made]
