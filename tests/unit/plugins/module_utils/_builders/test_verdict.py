# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._builders.verdict import (
    Verdict,
    apply_verdict,
    events_of,
    failed,
    judge_outcome,
    reason_of,
    with_pods,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome, Refusal
from ansible_collections.nimops.nim.plugins.module_utils._engine.status_builder import StatusBuilder

Json = dict[str, t.Any]

ROUTE = 'no matches for kind "HTTPRoute" in version "gateway.networking.k8s.io/v1"'
PROVIDERS = {"HTTPRoute": "the Gateway API"}


def status_of(state: str, reason: str, message: str = "m") -> Json:
    kind = "Failed" if state == "Failed" else "Ready"
    return {"state": state, "conditions": [{"type": kind, "reason": reason, "message": message}]}


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        *((kind, f"{kind}Failed") for kind in ("ServiceAccount", "Role", "RoleBinding", "Service")),
        *((kind, f"{kind}Failed") for kind in ("Ingress", "HTTPRoute", "ServiceMonitor")),
        *((kind, f"{kind}Failed") for kind in ("ConfigMap", "Secret", "Deployment")),
        ("HorizontalPodAutoscaler", "HPAFailed"),
        ("PersistentVolumeClaim", "Failed"),
    ],
)
def test_judge_outcome_reason_of_refusal(kind: str, reason: str) -> None:
    assert reason_of(kind) == reason
    found = judge_outcome(Outcome(refusals=[Refusal(kind, "x", "no")]), {})
    assert found == failed(reason, f'{kind} "x": no', error=f'{kind} "x": no')


def test_judge_outcome_several_refusals() -> None:
    refusals = [Refusal("Service", "x", "bad port"), Refusal("Secret", "x", "foreign")]
    found = judge_outcome(Outcome(refusals=refusals), {})
    assert found
    assert found.message == 'Service "x": bad port; Secret "x": foreign'
    assert found.reason == "ServiceFailed"


@pytest.mark.parametrize(
    ("kind", "message", "advice"),
    [
        pytest.param("HTTPRoute", ROUTE, ": install the Gateway API", id="kind unknown"),
        pytest.param(
            "HTTPRoute",
            ".spec.x: field not declared in schema",
            ": its release on this cluster is too old, upgrade the Gateway API",
            id="field unknown",
        ),
        pytest.param("HTTPRoute", "forbidden", "", id="another message"),
        pytest.param("Service", ROUTE, "", id="kind without provider"),
    ],
)
def test_judge_outcome_advice_for_missing_kind(kind: str, message: str, advice: str) -> None:
    found = judge_outcome(Outcome(refusals=[Refusal(kind, "x", message)]), PROVIDERS)
    assert found
    assert found.message == f'{kind} "x": {message}{advice}'


@pytest.mark.parametrize(("reason", "error"), [("Failed", "bad"), ("Forbidden", "")])
def test_judge_outcome_retries_temporary_failures(reason: str, error: str) -> None:
    found = judge_outcome(Outcome(failure="bad", failure_reason=reason), {})
    assert found == failed(reason, "bad", error=error)
    assert judge_outcome(Outcome(), {}) is None


@pytest.mark.parametrize(
    ("verdict", "conditions"),
    [
        pytest.param(
            Verdict("Ready", "Ready", "up"),
            [("Ready", "True", "Ready", "up"), ("Failed", "False", "Ready", "")],
            id="ready",
        ),
        pytest.param(
            Verdict("Ready", "Ready", "up", waiting="for a Secret"),
            [
                ("Ready", "True", "Ready", "up"),
                ("Failed", "False", "Ready", ""),
                ("Reconciling", "True", "NotReady", "for a Secret"),
            ],
            id="ready, but",
        ),
        pytest.param(
            Verdict("NotReady", "SecretNotFound", "wait"),
            [
                ("Ready", "False", "SecretNotFound", "wait"),
                ("Failed", "False", "Ready", "wait"),
                ("Reconciling", "True", "SecretNotFound", "wait"),
            ],
            id="not ready",
        ),
        pytest.param(
            failed("ServiceFailed", "bad"),
            [
                ("Ready", "False", "Failed", ""),
                ("Failed", "True", "ServiceFailed", "bad"),
                ("Stalled", "True", "ServiceFailed", "bad"),
            ],
            id="failed",
        ),
    ],
)
def test_apply_verdict_conditions(verdict: Verdict, conditions: list[tuple[str, ...]]) -> None:
    builder = StatusBuilder({})
    apply_verdict(builder, verdict)
    found = builder.finish().status
    assert found["state"] == verdict.state
    assert [tuple(item.values()) for item in found["conditions"]] == conditions


EVENTS_OF_CHANGES_ONLY_CASES = {
    "first pass": (
        {},
        Verdict("NotReady", "NotReady", "0 of 1", event_text="not ready yet"),
        [("Normal", "NotReady", "Toy a not ready yet, msg: 0 of 1")],
    ),
    "progress": (
        status_of("NotReady", "NotReady", "0 of 2"),
        Verdict("NotReady", "NotReady", "1 of 2"),
        [],
    ),
    "another reason": (
        status_of("NotReady", "SecretNotFound"),
        Verdict("NotReady", "NotReady", "0 of 1"),
        [("Normal", "NotReady", "Toy a not ready, msg: 0 of 1")],
    ),
    "ready": (
        status_of("NotReady", "NotReady"),
        Verdict("Ready", "Ready", "up"),
        [("Normal", "Ready", "Toy a ready, msg: up")],
    ),
    "still ready": (status_of("Ready", "Ready"), Verdict("Ready", "Ready", "up"), []),
    "failed": (
        status_of("Ready", "Ready"),
        failed("ServiceFailed", "bad", error="bad"),
        [
            ("Warning", "Failed", "Toy a failed, msg: bad"),
            ("Warning", "ReconcileFailed", "Toy a failed, msg: bad"),
        ],
    ),
    "failed for another reason, finally": (
        status_of("Failed", "Forbidden", "root"),
        failed("Forbidden", "host path"),
        [("Warning", "Failed", "host path")],
    ),
    "still failed": (
        status_of("Failed", "ServiceFailed", "bad"),
        failed("ServiceFailed", "bad", error="bad"),
        [],
    ),
}


@pytest.mark.parametrize(
    ("before", "verdict", "events"),
    EVENTS_OF_CHANGES_ONLY_CASES.values(),
    ids=EVENTS_OF_CHANGES_ONLY_CASES,
)
def test_events_of_changes_only(before: Json, verdict: Verdict, events: t.Any) -> None:
    found = events_of("Toy a", before, verdict)
    assert [(event.kind, event.reason, event.message) for event in found] == events


@pytest.mark.parametrize(
    ("former", "message", "why", "wanted"),
    [
        pytest.param("", "0 of 1\n", "", "0 of 1\n", id="nothing known"),
        pytest.param("", "0 of 1\n", "Pod a: lost", "0 of 1\nPod a: lost", id="after a newline"),
        pytest.param("", "late", "Pod a: lost", "late: Pod a: lost", id="after text"),
        pytest.param(
            "late: Pod a: lost: a node", "late", "Pod a: lost", "late: Pod a: lost: a node",
            id="the former says more",
        ),
    ],
)  # fmt: skip
def test_with_pods(former: str, message: str, why: str, wanted: str) -> None:
    assert with_pods(status_of("NotReady", "NotReady", former), message, why) == wanted
