# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Outcome, Refusal
from ansible_collections.nimops.nim.plugins.module_utils._nemo.status import assess

Json = dict[str, t.Any]

KIND = "NemoEntitystore"
PASSWORD = 'Secret/ns/pg#["password"]'
GONE = 'Waiting for Secret "pg", which does not exist (spec.databaseConfig.credentials)'
WAIT = 'Waiting for deployment "x" rollout to finish: '
DONE = 'deployment "x" successfully rolled out\n'
EXCEEDED = [{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]
POD = {
    "metadata": {"name": "x-1"},
    "status": {
        "containerStatuses": [
            {"name": "x-ctr", "state": {"waiting": {"reason": "InvalidImageName", "message": "?"}}}
        ]
    },
}


def deployment(nemo: t.Any, **status: t.Any) -> Json:
    found: Json = nemo.rolled_out(nemo.made(KIND, {"replicas": 2})["Deployment"], **status)
    return found


def judge(nemo: t.Any, live: Json | None, status: Json | None = None, **answers: t.Any) -> t.Any:
    found = {"Deployment/ns/x": live} | answers
    app = nemo.app(KIND, observed=nemo.observe(**found), status=status or {})
    return assess(app, Outcome())


def conditions(found: t.Any) -> dict[str, tuple[str, str, str]]:
    return {
        item["type"]: (item["status"], item["reason"], item["message"])
        for item in found.status["conditions"]
    }


def test_assess_ready(nemo: t.Any) -> None:
    found = judge(nemo, deployment(nemo))
    assert found.status["state"] == "Ready"
    names = ("replicas", "availableReplicas", "selector")
    assert [found.status[name] for name in names] == [2, 2, "app=x"]
    assert conditions(found) == {
        "Ready": ("True", "Ready", DONE),
        "Failed": ("False", "Ready", ""),
    }
    assert [item.message for item in found.events] == [f"{KIND} x ready, msg: {DONE}"]
    assert not found.requeue.after


@pytest.mark.parametrize(
    ("live", "message"),
    [
        pytest.param({"updatedReplicas": 1}, "1 out of 2 new replicas have been updated",
                     id="updating"),
        pytest.param({"replicas": 3}, "1 old replicas are pending termination", id="old"),
        pytest.param({"availableReplicas": 0}, "0 of 2 updated replicas are available",
                     id="starting"),
    ],
)  # fmt: skip
def test_assess_not_ready(nemo: t.Any, live: Json, message: str) -> None:
    found = judge(nemo, deployment(nemo, **live))
    text = f"{WAIT}{message}...\n"
    assert found.status["state"] == "NotReady"
    assert conditions(found) == {
        "Ready": ("False", "NotReady", text),
        "Failed": ("False", "Ready", text),
        "Reconciling": ("True", "NotReady", text),
    }
    assert [item.message for item in found.events] == [f"{KIND} x not ready yet, msg: {text}"]
    assert found.requeue.after is True


def test_assess_without_deployment(nemo: t.Any) -> None:
    found = judge(nemo, None)
    assert conditions(found)["Ready"] == ("False", "NotReady", "")
    assert "availableReplicas" not in found.status


def test_assess_deadline_exceeded(nemo: t.Any) -> None:
    found = judge(nemo, deployment(nemo, conditions=EXCEEDED))
    text = 'deployment "x" exceeded its progress deadline'
    assert conditions(found)["Ready"] == ("False", "NotReady", text)
    assert conditions(found)["Stalled"] == ("True", "ProgressDeadlineExceeded", text)


def test_assess_unready_pods(nemo: t.Any) -> None:
    live = deployment(nemo, availableReplicas=0)
    found = judge(nemo, live, **{"Pod/ns/*?app=x": [POD]})
    why = "Pod x-1, container x-ctr: InvalidImageName: ?"
    message = f"{WAIT}0 of 2 updated replicas are available...\n{why}"
    assert conditions(found)["Ready"][2] == message


@pytest.mark.parametrize(
    ("live", "state", "reason"),
    [
        pytest.param(None, "NotReady", "SecretNotFound", id="nothing runs"),
        pytest.param({"availableReplicas": 1}, "NotReady", "SecretNotFound", id="some pods lack"),
        pytest.param({}, "Ready", "Ready", id="pods run"),
    ],
)
def test_assess_missing_secret(nemo: t.Any, live: Json | None, state: str, reason: str) -> None:
    running = None if live is None else deployment(nemo, **live)
    found = judge(nemo, running, **{PASSWORD: None})
    assert found.status["state"] == state
    assert conditions(found)["Ready"][1:] == (reason, DONE if state == "Ready" else GONE)
    assert conditions(found)["Reconciling"][2] == GONE
    assert found.requeue.after, "no watch reports its creation"


def test_assess_events(nemo: t.Any) -> None:
    first = judge(nemo, deployment(nemo))
    assert judge(nemo, deployment(nemo), first.status).events == []
    assert judge(nemo, deployment(nemo), first.status, **{PASSWORD: None}).events == []
    late = judge(nemo, deployment(nemo, updatedReplicas=0), first.status)
    assert [item.reason for item in late.events] == ["NotReady"]
    assert judge(nemo, deployment(nemo, updatedReplicas=1), late.status).events == []
    assert [item.reason for item in judge(nemo, deployment(nemo), late.status).events] == ["Ready"]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        pytest.param({"strategy": {"type": "Recreate"}}, "Ready", id="pods are the same"),
        pytest.param({"template": {"spec": {}}}, "NotReady", id="new pods"),
        pytest.param({"replicas": 3}, "NotReady", id="more pods"),
    ],
)
def test_assess_ready_during_change(nemo: t.Any, change: Json, state: str) -> None:
    live = deployment(nemo)
    metadata = live["metadata"] | {"generation": 4}
    written = live | {"metadata": metadata, "spec": live["spec"] | change}
    app = nemo.app(KIND, observed=nemo.observe(live), status={"state": "Ready"})
    found = assess(app, Outcome(written={"Deployment/ns/x": written}))
    assert found.status["state"] == state


@pytest.mark.parametrize(
    ("outcome", "reason", "message"),
    [
        pytest.param(
            Outcome(refusals=[Refusal("Service", "x", "bad type")]),
            "ServiceFailed",
            'Service "x": bad type',
            id="refused",
        ),
        pytest.param(
            Outcome(refusals=[Refusal("HTTPRoute", "x", 'no matches for kind "HTTPRoute"')]),
            "HTTPRouteFailed",
            'HTTPRoute "x": no matches for kind "HTTPRoute": install the Gateway API, for'
            " spec.expose.router.gateway",
            id="no Gateway API",
        ),
        pytest.param(
            Outcome(refusals=[Refusal("ServiceMonitor", "x", 'no matches for kind "S"')]),
            "ServiceMonitorFailed",
            'ServiceMonitor "x": no matches for kind "S": install the Prometheus operator, for'
            " spec.metrics",
            id="no Prometheus operator",
        ),
        pytest.param(
            Outcome(failure="bad spec", failure_reason="DeploymentFailed"),
            "DeploymentFailed",
            "bad spec",
            id="spec",
        ),
    ],
)
def test_assess_failed(nemo: t.Any, outcome: Outcome, reason: str, message: str) -> None:
    app = nemo.app(KIND, observed=nemo.observe(deployment(nemo)))
    found = assess(app, outcome)
    assert found.status["state"] == "Failed"
    assert conditions(found)["Ready"] == ("False", "Failed", "")
    assert conditions(found)["Failed"] == ("True", reason, message)
    assert found.events[0].message == f"{KIND} x failed, msg: {message}"
    assert found.error == message
    recovered = judge(nemo, deployment(nemo), found.status)
    assert conditions(recovered)["Failed"] == ("False", "Ready", "")
    assert "Stalled" not in conditions(recovered)


@pytest.mark.parametrize(
    ("create", "owner", "effect"),
    [
        pytest.param(True, "u-x", "is also deleted", id="ours"),
        pytest.param(True, "u-other", "is kept", id="foreign"),
        pytest.param(False, "u-x", "", id="not ours to make"),
        pytest.param(True, None, "", id="not there"),
    ],
)
def test_assess_on_deletion(nemo: t.Any, create: bool, owner: str | None, effect: str) -> None:
    metadata = {"name": "x-pvc", "namespace": "ns", "ownerReferences": [{"uid": owner}]}
    claim = {"kind": "PersistentVolumeClaim", "metadata": metadata}
    observed = nemo.observe(*([claim] if owner else []))
    spec = {"configStore": {"pvc": {"create": create}}}
    found = assess(nemo.app("NemoGuardrail", spec, observed), Outcome()).status
    assert effect in found.get("onDeletion", "")
    assert bool(found.get("onDeletion")) == bool(effect)


@pytest.mark.parametrize(
    ("owner", "endpoint"),
    [
        pytest.param("u-x", "x.ns.svc:8000", id="ours"),
        pytest.param("u-other", None, id="foreign"),
        pytest.param(None, None, id="not there"),
    ],
)
def test_assess_endpoint(nemo: t.Any, owner: str | None, endpoint: str | None) -> None:
    service = dict(nemo.made(KIND)["Service"])
    service["metadata"] = {
        **service["metadata"],
        "ownerReferences": [{"uid": owner, "controller": True}],
    }
    answers = {"Service/ns/x": service if owner else None}
    status = {"endpoint": "of an earlier pass"}
    found = judge(nemo, deployment(nemo), status, **answers).status
    assert found.get("endpoint") == endpoint


def test_assess_endpoint_unread(nemo: t.Any) -> None:
    found = judge(nemo, deployment(nemo), {"endpoint": "x.ns.svc:8000"}).status
    assert found["endpoint"] == "x.ns.svc:8000"
