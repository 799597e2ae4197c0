# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import (
    condition,
    find_condition,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Event, Requeue
from ansible_collections.nimops.nim.plugins.module_utils._engine.status_builder import StatusBuilder

FAILED = "TOY_FAILED"


@pytest.mark.parametrize("status", [{}, {"state": None, "conditions": None}])
def test_status_builder_empty_status(status):
    builder = StatusBuilder(status)
    assert (builder.state, builder.conditions) == ("", [])
    assert builder.finish().status["conditions"] == []


@pytest.mark.parametrize("value", ["", None, [], {}, 0, False])
def test_set_field_empty_removes(value):
    builder = StatusBuilder({"a": 1, "b": 2})
    builder.set_field("a", value)
    builder.set_field("c", value)
    assert builder.status == {"b": 2}


@pytest.mark.parametrize(
    ("existing", "available", "expected"),
    [
        pytest.param(3, 2, {"replicas": 3, "availableReplicas": 2}, id="both"),
        pytest.param(0, None, {}, id="none"),
        pytest.param(2**31 - 1, 2**31, {"replicas": 2**31 - 1}, id="more than the CRD accepts"),
        pytest.param(-1, "1", {}, id="not counts"),
    ],
)
def test_set_replicas(existing, available, expected):
    builder = StatusBuilder({"replicas": 1, "availableReplicas": 1, "selector": "old=1"})
    builder.set_replicas(existing, available, {"b": "2", "a": "1"})
    assert builder.status == {"selector": "a=1,b=2"} | expected


def test_set_condition_and_remove_condition():
    builder = StatusBuilder({})
    for kind in ("A", "B", "C"):
        builder.set_condition(kind, False, "Old")
    builder.set_condition("B", True, "New", "text")
    builder.remove_condition("A", "Other")
    assert builder.conditions == [
        condition("B", True, "New", "text"), condition("C", False, "Old"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "has_event"),
    [
        pytest.param(None, True, id="new"),
        pytest.param(condition(FAILED, True, "ReconcileFailed", "no"), False, id="same"),
        pytest.param(
            condition(FAILED, True, "ReconcileFailed", "else"), True, id="another message"
        ),
        pytest.param(condition(FAILED, False, "Reconciled", "no"), True, id="again"),
    ],
)
def test_fail_event_once(old, has_event):
    builder = StatusBuilder({"conditions": [old] if old else []})
    builder.fail(FAILED, "Toy a", "no")
    text = "Toy a reconcile failed, msg: no"
    assert builder.events == ([Event("Warning", "ReconcileFailed", text)] if has_event else [])
    assert builder.conditions == [condition(FAILED, True, "ReconcileFailed", "no")]


def test_recover_only_existing_condition():
    builder = StatusBuilder({})
    builder.recover(FAILED)
    assert builder.conditions == []
    builder.fail(FAILED, "Toy a", "no")
    builder.recover(FAILED)
    assert builder.conditions == [condition(FAILED, False, "Reconciled")]


def test_retry_fails_run():
    builder = StatusBuilder({})
    builder.retry("down")
    found = builder.finish()
    assert found.error == "down"
    assert find_condition(found.status["conditions"], "Reconciling")["reason"] == "Retrying"


REASON, SOON = ("R", "m"), {"requeue": Requeue(after=True)}
WOKEN = {"reconciling": REASON, "requeue_while_reconciling": False}


@pytest.mark.parametrize(
    ("fields", "after"),
    [
        pytest.param({}, False, id="settled"),
        pytest.param({"reconciling": REASON}, True, id="reconciling"),
        pytest.param(WOKEN, False, id="woken"),
        pytest.param(WOKEN | SOON, True, id="woken and requeued"),
        pytest.param({"stalled": REASON}, False, id="stalled"),
        pytest.param({"stalled": REASON} | SOON, True, id="stalled and requeued"),
    ],
)
def test_finish_requeue(fields, after):
    assert StatusBuilder({}, **fields).finish().requeue.after is after


def test_finish():
    progress = [condition("Reconciling", True, "Old"), condition("Stalled", True, "Old")]
    builder = StatusBuilder({"state": "Ready", "conditions": progress}, requeue=Requeue(slow=True))
    builder.stalled = ("Broken", "fix it")
    found = builder.finish()
    assert found.status == {
        "state": "Ready",
        "conditions": [condition("Stalled", True, "Broken", "fix it")],
    }
    assert (found.requeue.slow, found.error) == (True, "")
    assert builder.conditions == progress, "finishing changes nothing"
