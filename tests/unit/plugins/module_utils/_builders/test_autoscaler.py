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
ZERO = {"minReplicas": 0, "maxReplicas": 5, "metrics": [{"type": "External"}]}
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
# The API server records no owner of a count of 0 that the scale subresource wrote.
UNOWNED = {**OURS, "fieldsV1": {"f:spec": {"f:selector": {}}}}
STATUS = {
    "manager": "kcm",
    "operation": "Update",
    "subresource": "status",
    "fieldsV1": {"f:status": {}},
}


def live(replicas: int, *entries: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"metadata": {"managedFields": list(entries)}, "spec": {"replicas": replicas}}


CHOOSE_REPLICAS_CASES = {
    "create": (3, None, None, 3),
    "create asleep": (0, None, None, 0),
    "scale by the spec": (3, None, live(1, OURS), 3),
    "undo a manual scale": (3, None, live(5, SCALER), 3),
    "autoscaling was switched off": (3, None, live(5, SCALER, OURS), 3),
    "create, unset": (None, None, None, None),
    "unset later: keep what runs": (None, None, live(4, OURS), 4),
    "unset, taken over: keep what runs": (None, None, live(4, REFERENCE), 4),
    "unset, scaled by hand: theirs": (None, None, live(4, SCALER), None),
    "unset, scaled by hand to our value": (None, None, live(4, OURS, SCALER), None),
    "unset, asleep: stays asleep": (None, None, live(0, OURS), 0),
    "create with autoscaling": (None, HPA, None, 2),
    "autoscaling takes over: keep what runs": (None, HPA, live(4, OURS), 4),
    "below the minimum: the autoscaler's work": (None, HPA, live(1, OURS, STATUS), 1),
    "autoscaled, taken over before it acted": (None, HPA, live(4, REFERENCE), 4),
    "autoscaled, taken over after": (None, HPA, live(4, REFERENCE, SCALER), None),
    "edited by hand: co-owned at the live value": (None, HPA, live(4, EDITED), 4),
    "the autoscaler wrote our value": (None, HPA, live(4, OURS, SCALER), None),
    "the autoscaler wrote another": (None, HPA, live(5, SCALER), None),
    "we put it to sleep: wake it": (None, HPA, live(0, OURS), 2),
    "put to sleep by hand: stays asleep": (None, HPA, live(0, UNOWNED), None),
    "the autoscaler put it to sleep": (None, ZERO, live(0, UNOWNED, STATUS), None),
    "and woke it up": (None, ZERO, live(2, UNOWNED, STATUS), None),
    "create with 0: an autoscaler would ignore it": (None, ZERO, None, 1),
    "we put it to sleep, with a minimum of 0": (None, ZERO, live(0, OURS), 1),
    "no managed fields": (None, HPA, {"metadata": {}, "spec": {"replicas": 4}}, 4),
}


@pytest.mark.parametrize(
    ("given", "hpa", "deployment", "wanted"),
    CHOOSE_REPLICAS_CASES.values(),
    ids=CHOOSE_REPLICAS_CASES,
)
def test_choose_replicas(
    given: int | None, hpa: t.Any, deployment: t.Any, wanted: int | None
) -> None:
    assert choose_replicas(deployment, given, hpa) == wanted


@pytest.mark.parametrize("given", [{}, {"minReplicas": None}, {"minReplicas": 0}])
def test_min_replicas_default(given: t.Any) -> None:
    assert min_replicas(given) == 1
    assert choose_replicas(None, None, given) == 1


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        pytest.param(["External"], 0, id="external"),
        pytest.param(["Resource", "Object"], 0, id="object"),
        pytest.param(["Resource", "Pods", "ContainerResource"], 1, id="of pods"),
    ],
)
def test_min_replicas_zero(app: t.Any, types: list[str], wanted: int) -> None:
    given = {"minReplicas": 0, "maxReplicas": 2, "metrics": [{"type": name} for name in types]}
    assert min_replicas(given) == wanted
    assert build_autoscaler(app(), given)["spec"]["minReplicas"] == wanted


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
