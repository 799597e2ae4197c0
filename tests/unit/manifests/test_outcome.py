# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from nimops_manifests.outcome import explain, is_ready, judge, refusal, warnings


def resource(state=None, generation=2, observed=2, **conditions):
    found = [
        {"type": kind, "status": status, "reason": "R", "message": message}
        for kind, (status, message) in conditions.items()
    ]
    status = {"state": state, "observedGeneration": observed, "conditions": found}
    return {"metadata": {"generation": generation}, "status": status if state else {}}


READY = {
    "Ready": (resource("Ready"), True),
    "ready": (resource("ready"), True),
    "NotReady": (resource("NotReady"), False),
    "of an older spec": (resource("Ready", generation=3), False),
    "no status": (resource(), False),
}


@pytest.mark.parametrize(("item", "wanted"), READY.values(), ids=READY)
def test_is_ready(item, wanted):
    assert is_ready(item) is wanted


def test_explain_order_and_repetition():
    item = resource(
        "NotReady",
        Ready=("False", "waits"),
        Reconciling=("True", "waits"),
        Stalled=("True", "no\nSecret x"),
        Failed=("False", "old"),
    )
    assert explain(item) == "R: no Secret x; R: waits"


JUDGED = {
    "Ready": (resource("Ready"), ("Ready", "", True)),
    "names an object": (
        resource("NotReady", Reconciling=("True", "waiting for NIMCache c")),
        ("NotReady", "R: waiting for NIMCache c", True),
    ),
    "names a field": (
        resource("Failed", Stalled=("True", "spec.image: is empty")),
        ("Failed", "R: spec.image: is empty", True),
    ),
    "names nothing": (
        resource("NotReady", Reconciling=("True", "not ready")),
        ("NotReady", "R: not ready", False),
    ),
    "no message": (resource("NotReady"), ("NotReady", "no message", False)),
    "no status": (resource(), ("no state", "no message", False)),
    "gone": (None, ("gone", "it was deleted meanwhile", False)),
}


@pytest.mark.parametrize(("item", "wanted"), JUDGED.values(), ids=JUDGED)
def test_judge(item, wanted):
    assert judge(item) == wanted


def test_refusal_and_warnings():
    text = (
        'Warning: unknown field "spec.a"\nThe NIMCache "c" is invalid: \n'
        "* spec.source: Required value\n"
    )
    assert refusal(text) == 'The NIMCache "c" is invalid: * spec.source: Required value'
    assert warnings(text) == ['unknown field "spec.a"']


def test_refusal_missing_kind():
    text = (
        "W1126 16:55:24.955117     252 schema.go:145] cannot perform warn validation\n"
        'error: resource mapping not found for name: "c" namespace: "" from "STDIN": '
        'no matches for kind "X" in version "x/v1"\nensure CRDs are installed first\n'
    )
    assert refusal(text) == 'no matches for kind "X" in version "x/v1"'


def test_warnings_own_namespace():
    key = "kubectl.kubernetes.io/last-applied-configuration"
    assert warnings(f"Warning: resource namespaces/a is missing the {key} annotation") == []
