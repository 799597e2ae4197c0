# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.app import App
from ansible_collections.nimops.nim.plugins.module_utils._builders.replicas import (
    AUTOSCALED,
    CONDITION,
    SCALED_MANUALLY,
    SPEC_REPLICAS,
    Hold,
    Scaling,
    find_hold,
    record_replicas,
    report_conflict,
    report_hold,
    scaling_reads,
    wanted_replicas,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.observed import Observed
from ansible_collections.nimops.nim.plugins.module_utils._engine.status_builder import StatusBuilder

Json = dict[str, t.Any]

HPAS = "HorizontalPodAutoscaler/ns/*"
REPLICAS = {"f:spec": {"f:replicas": {}}}
OURS = {"manager": "nimops.nim", "operation": "Apply", "fieldsV1": REPLICAS}
MANUAL = {"manager": "kubectl", "subresource": "scale", "fieldsV1": REPLICAS}
HPA_WROTE = MANUAL | {"manager": "kube-controller-manager"}
# The API server records no owner of a count of 0 that the scale subresource wrote.
UNOWNED = {**OURS, "fieldsV1": {"f:spec": {"f:selector": {}}}}
EDITED = {"manager": "kubectl-edit", "operation": "Update", "fieldsV1": REPLICAS}


def deployment(replicas: int, *entries: Json, record: str = "", kind: str = "Deployment") -> Json:
    annotations = {"annotations": {SPEC_REPLICAS: record}} if record else {}
    group = "apps" if kind == "Deployment" else "leaderworkerset.x-k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "llm", "managedFields": list(entries)} | annotations,
        "spec": {"replicas": replicas},
    }


def hpa(**target: t.Any) -> Json:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"} | target
    return {"metadata": {"name": "keda-hpa-llm"}, "spec": {"scaleTargetRef": target}}


OUR_HPA = hpa()
OUR_HPA["metadata"]["ownerReferences"] = [{"uid": "u", "controller": True}]


def make_app(hpas: t.Sequence[Json] = (), seen: int | None = 2) -> App:
    status = {} if seen is None else {"observedGeneration": seen}
    resource = {
        "kind": "NIMService",
        "metadata": {"name": "llm", "namespace": "ns", "uid": "u", "generation": 2},
        "spec": {},
        "status": status,
    }
    return App(resource, Observed({HPAS: list(hpas)}))


FIND_HOLD_CASES: dict[str, tuple[Json | None, int | None, list[Json], int | None, str]] = {
    "no workload": (None, 1, [hpa()], 2, ""),
    "same count": (deployment(1, MANUAL), 1, [hpa()], 2, ""),
    "unset": (deployment(3, MANUAL), None, [hpa()], 2, ""),
    "off": (deployment(3, MANUAL), 0, [hpa()], 2, ""),
    "edited": (deployment(3, EDITED), 1, [], 2, ""),
    "autoscaled": (deployment(3, HPA_WROTE), 1, [hpa()], 2, AUTOSCALED),
    "autoscaled before the autoscaler writes": (deployment(3, OURS), 1, [hpa()], 2, AUTOSCALED),
    "autoscaled, changed spec": (deployment(3, HPA_WROTE), 1, [hpa()], 1, AUTOSCALED),
    "autoscaled, without a group": (
        deployment(3, HPA_WROTE), 1, [hpa(apiVersion=None)], 2, AUTOSCALED,
    ),
    "autoscaled groups": (
        deployment(3, HPA_WROTE, kind="LeaderWorkerSet"),
        1,
        [hpa(kind="LeaderWorkerSet", apiVersion="leaderworkerset.x-k8s.io/v1")],
        2,
        AUTOSCALED,
    ),
    "autoscaler of another workload": (deployment(3, HPA_WROTE), 1, [hpa(name="x")], 2, ""),
    "autoscaler of another kind": (deployment(3, HPA_WROTE), 1, [hpa(kind="ReplicaSet")], 2, ""),
    "autoscaler of another group": (
        deployment(3, HPA_WROTE), 1, [hpa(apiVersion="argoproj.io/v1")], 2, "",
    ),
    "our own autoscaler, about to be deleted": (deployment(3, HPA_WROTE), 1, [OUR_HPA], 2, ""),
    "autoscaler that is gone": (deployment(3, HPA_WROTE), 1, [], 2, ""),
    "by hand": (deployment(3, MANUAL), 1, [], 2, SCALED_MANUALLY),
    "by hand, to zero": (deployment(0, UNOWNED), 1, [], 2, SCALED_MANUALLY),
    "by hand, co-owned": (deployment(3, OURS, MANUAL), 1, [], 2, SCALED_MANUALLY),
    "by hand, before a takeover": (deployment(3, MANUAL), 1, [], None, SCALED_MANUALLY),
    "by hand, then another field of the spec": (
        deployment(3, MANUAL, record="1"), 1, [], 1, SCALED_MANUALLY,
    ),
    "by hand, then edited": (deployment(4, EDITED, record="1"), 1, [], 2, SCALED_MANUALLY),
    "by hand, then spec.replicas": (deployment(3, MANUAL, record="1"), 2, [], 1, ""),
    "by hand, and the spec changed before a pass": (deployment(3, MANUAL), 1, [], 1, ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("live", "given", "hpas", "seen", "reason"), FIND_HOLD_CASES.values(), ids=FIND_HOLD_CASES
)
def test_find_hold(
    live: Json | None, given: int | None, hpas: list[Json], seen: int | None, reason: str
) -> None:
    app, scaling = make_app(hpas, seen), Scaling(live, given, None)
    hold = find_hold(app, scaling)
    assert (hold.reason if hold else "") == reason
    assert bool(record_replicas(app, scaling)) == (reason == SCALED_MANUALLY)
    if live and given is not None and not hold:
        assert wanted_replicas(app, scaling) == given


def test_find_hold_message() -> None:
    live = deployment(3, MANUAL)
    found = [find_hold(make_app(hpas), Scaling(live, 1, None)) for hpas in ([hpa()], [])]
    assert [hold.message for hold in found if hold] == [
        'HorizontalPodAutoscaler "keda-hpa-llm" scales Deployment "llm": spec.replicas applies again'
        " without it, or if it is 0",
        'Deployment "llm" was scaled manually: spec.replicas applies again when it changes',
    ]


@pytest.mark.parametrize(
    ("live", "hpas", "wanted"),
    [
        pytest.param(deployment(3, MANUAL), [], None, id="by hand"),
        pytest.param(deployment(3, HPA_WROTE), [hpa()], None, id="autoscaled"),
        pytest.param(deployment(3, OURS), [hpa()], 3, id="only we own the field"),
        pytest.param(deployment(0, OURS), [hpa()], 1, id="on again: an autoscaler ignores 0"),
        pytest.param(deployment(0, UNOWNED), [hpa()], None, id="KEDA scaled to zero"),
        pytest.param(deployment(3, UNOWNED), [hpa()], None, id="and up again"),
    ],
)
def test_wanted_replicas(live: Json, hpas: list[Json], wanted: int | None) -> None:
    assert wanted_replicas(make_app(hpas), Scaling(live, 1, None)) == wanted


@pytest.mark.parametrize(
    ("scaling", "is_read"),
    [
        (Scaling(deployment(3), 1, None), True),
        (Scaling(deployment(1), 1, None), False),
        (Scaling(deployment(3), 0, None), False),
        (Scaling(deployment(3), None, None), False),
        (Scaling(deployment(3), 1, {"maxReplicas": 4}), False),
        (Scaling(None, 1, None), False),
    ],
)
def test_scaling_reads(scaling: Scaling, is_read: bool) -> None:
    """An unchanged pass makes no further request."""
    assert [read.key for read in scaling_reads(make_app(), scaling)] == ([HPAS] if is_read else [])


def test_report_hold() -> None:
    builder = StatusBuilder({})
    for _pass in range(2):
        report_hold(builder, Hold("Autoscaled", "m"))
    assert [(item["type"], item["reason"]) for item in builder.conditions] == [
        (CONDITION, "Autoscaled")
    ]
    assert [(event.kind, event.message) for event in builder.events] == [("Normal", "m")]
    report_hold(builder, None)
    assert builder.conditions == []


def active(reason: str, message: str = "m") -> Json:
    found = {"type": "ScalingActive", "status": "False", "reason": reason, "message": message}
    return {"status": {"conditions": [{"type": "AbleToScale"}, found]}}


def test_report_conflict() -> None:
    builder = StatusBuilder({})
    scaling = Scaling(None, None, {"maxReplicas": 2}, active("AmbiguousSelector", "a\x1bb" * 300))
    for _pass in range(2):
        report_conflict(builder, scaling)
    [found] = builder.conditions
    assert (found["type"], found["reason"]) == ("AutoscalersConflict", "AmbiguousSelector")
    assert found["message"].startswith("HorizontalPodAutoscaler does not act: abab")
    assert len(found["message"]) < 600
    assert [event.kind for event in builder.events] == ["Warning"]
    report_conflict(builder, scaling._replace(scaler=active("ScalingDisabled")))
    assert builder.conditions == []


@pytest.mark.parametrize(
    "scaling",
    [
        pytest.param(Scaling(None, None, None, active("AmbiguousSelector")), id="not ours"),
        pytest.param(Scaling(None, None, {"maxReplicas": 2}), id="no autoscaler yet"),
        pytest.param(Scaling(None, None, {"maxReplicas": 2}, {"metadata": {}}), id="no status"),
    ],
)
def test_report_no_conflict(scaling: Scaling) -> None:
    builder = StatusBuilder({})
    report_conflict(builder, scaling)
    assert (builder.conditions, builder.events) == ([], [])
