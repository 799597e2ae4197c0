# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.kserve.refusals import (
    is_unobserved,
    refusal_reads,
    why_refused,
)
from ansible_collections.nimops.nim.plugins.module_utils._nim.service.readiness import readiness_of

KSERVE = {"inferencePlatform": "kserve"}
EVENT = "InferenceService/ns/llm#InternalError"
REJECTED = "InferenceService/ns/llm#ServerlessModeRejected"
READY = {"state": "Ready", "observedGeneration": 2, "operatorVersion": ""}
STOPPED = {"serving.kserve.io/stop": "true"}
DENIED = (
    "fails to reconcile predictor: fails to reconcile knative service: admission webhook"
    ' "validation.webhook.serving.knative.dev" denied the request: validation failed: '
)
NODES = f"{DENIED}must not set the field(s): spec.template.spec.nodeSelector"
ADVICE = (
    ' (Knative Service "llm-predictor": for spec.nodeSelector, set kubernetes.podspec-nodeselector to enabled in ConfigMap'
    " config-features, in Knative's namespace knative-serving)"
)


def at(second):
    return f"2026-01-01T00:00:{second:02}Z"


def live(
    mode="Knative",
    *,
    ready="True",
    message="",
    reason="ReconcileFailed",
    since=1,
    changed=2,
    annotations=None,
):
    """An InferenceService that was changed at one second and became ready at another."""
    condition = {"type": "PredictorReady", "status": ready, "lastTransitionTime": at(since)}
    condition |= {"message": message, "reason": reason} if message else {}
    fields = [
        {"manager": "nimops", "time": at(0)},
        {"manager": "nimops", "time": at(changed)},
        {"manager": "kserve", "time": at(50), "subresource": "status"},
    ]
    return {
        "kind": "InferenceService",
        "metadata": {
            "name": "llm",
            "namespace": "ns",
            "managedFields": fields,
            "annotations": annotations,
        },
        "spec": {"predictor": {}},
        "status": {"deploymentMode": mode, "conditions": [condition]},
    }


def app_of(make, found, message=NODES, time=3, now=None, **status):
    event = {"message": message, "lastTimestamp": at(time)} if message else {}
    answers = {EVENT: event} | ({"time": now} if now else {})
    return make.app(make.cr(KSERVE, status), *([found] if found else []), **answers)


@pytest.mark.parametrize(
    ("spec", "status", "found", "keys"),
    [
        pytest.param(KSERVE, {}, live(), [EVENT, REJECTED, "time"], id="Knative"),
        pytest.param(KSERVE, {}, live("RawDeployment"), [EVENT], id="standard"),
        pytest.param(KSERVE, READY, live(), [], id="settled"),
        pytest.param(
            KSERVE, READY | {"observedGeneration": 1}, live(), [EVENT, REJECTED, "time"], id="new"
        ),
        pytest.param(KSERVE, {}, live(annotations=STOPPED), [], id="off"),
        pytest.param(KSERVE, {}, None, [], id="no InferenceService"),
        pytest.param({}, {}, live(), [], id="standalone"),
    ],
)
def test_refusal_reads(make, spec, status, found, keys):
    app = make.app(make.cr(spec, status), *([found] if found else []))
    assert [read.key for read in refusal_reads(app)] == keys


@pytest.mark.parametrize(
    ("found", "time", "is_current"),
    [
        pytest.param(live(), 3, True, id="an update"),
        pytest.param(live(), 2, True, id="in the second of the update"),
        pytest.param(live(), 1, False, id="before the update"),
        pytest.param(live(since=4), 3, False, id="ready since"),
        pytest.param(live(since=3), 3, False, id="ready in the same second"),
        pytest.param(live(ready="Unknown", since=3), 3, True, id="a new InferenceService"),
        pytest.param(live(ready="Unknown", since=4), 3, False, id="a new revision since"),
        pytest.param(None, 3, False, id="no InferenceService"),
    ],
)
def test_why_refused(make, found, time, is_current):
    why = why_refused(app_of(make, found, time=time))
    assert why == (NODES + ADVICE if is_current else "")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        pytest.param("", "", id="no event"),
        pytest.param(
            'Operation cannot be fulfilled on services.serving.knative.dev "llm-predictor": the'
            " object has been modified",
            "",
            id="passes by itself",
        ),
        pytest.param(
            'pods "dry-run-validation7hx2k" is forbidden: exceeded quota',
            'pods "dry-run-validation…" is forbidden: exceeded quota',
            id="another name at each attempt",
        ),
        pytest.param('Deployment.apps "a" is invalid: b', 'Deployment.apps "a" is invalid: b'),
        pytest.param(f"(combined from similar events): {NODES}", NODES + ADVICE, id="repeated"),
    ],
)
def test_why_refused_by(make, message, why):
    assert why_refused(app_of(make, live(), message)) == why


@pytest.mark.parametrize(
    ("message", "why"),
    [
        pytest.param(NODES, NODES + ADVICE, id="a refusal"),
        pytest.param("Revision failed", "", id="another cause"),
    ],
)
def test_why_refused_by_status(make, message, why):
    """From 0.20 on at the latest, KServe reports it."""
    found = live(ready="False", message=message, since=3)
    assert why_refused(app_of(make, found, message="")) == why


@pytest.mark.parametrize(("time", "is_current"), [(3, True), (0, False)])
def test_why_refused_without_knative_installed(make, time, is_current):
    """KServe reports it only by this event, once."""
    event = {
        "message": "It is not possible to use Knative deployment mode",
        "lastTimestamp": at(time),
    }
    app = make.app(KSERVE, live(ready="Unknown"), **{REJECTED: event})
    assert why_refused(app).startswith(f"{event['message']} (install Knative") is is_current


def test_why_refused_pods(make):
    """The controller of the pods reports it, and their problems explain it."""
    found = live(
        "Standard", ready="False", message='pods "a" is forbidden: quota', reason="FailedCreate"
    )
    assert why_refused(app_of(make, found, message="")) == ""
    assert readiness_of(app_of(make, found, message="")).awaits_pods


def test_why_refused_without_knative(make):
    text = 'admission webhook "x" denied the request: it is a reserved port'
    assert why_refused(app_of(make, live("Standard", ready="False", message=text))) == text


@pytest.mark.parametrize(
    ("found", "state", "now", "is_waiting"),
    [
        pytest.param(live(), "NotReady", at(5), True, id="changed a moment ago"),
        pytest.param(live(), "NotReady", at(12), False, id="without effect"),
        pytest.param(live(since=2), "NotReady", at(5), False, id="ready in that second"),
        pytest.param(live(since=3), "NotReady", at(5), False, id="ready since"),
        pytest.param(live(), "Ready", at(5), False, id="a change of labels"),
        pytest.param(live(changed=30), "NotReady", at(5), False, id="a clock that is far behind"),
        pytest.param(live(), "NotReady", None, False, id="no time"),
        pytest.param(None, "NotReady", at(5), False, id="no InferenceService"),
    ],
)
def test_is_unobserved(make, found, state, now, is_waiting):
    app = app_of(make, found, message="", now=now, state=state)
    assert is_unobserved(app) is is_waiting
    if found:
        assert readiness_of(app).ready is not is_waiting


def test_readiness_of_a_refused_service(make):
    """Also if the former pods are ready: they are not those of the spec."""
    readiness = readiness_of(app_of(make, live()))
    assert (readiness.ready, readiness.moving) == (False, True)
    assert readiness.message == NODES + ADVICE


def test_readiness_of_a_refused_service_after_its_correction(make):
    assert readiness_of(app_of(make, live(changed=4))).ready
