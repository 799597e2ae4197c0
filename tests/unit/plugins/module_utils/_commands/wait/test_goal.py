# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.wait.goal import (
    Outcome,
    judge,
    parse_goal,
)

MET, WAITING, FAILED = Outcome.MET, Outcome.WAITING, Outcome.FAILED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ready", "Ready"),
        ("deleted", "deleted"),
        ("delete", "deleted"),
        ("condition=Ready", "Ready"),
        ("condition=ready=false", "ready=False"),
        ("Reconciling=False", "Reconciling=False"),
        ("NIM_CACHE_JOB_CREATED", "NIM_CACHE_JOB_CREATED"),
    ],
)
def test_parse_goal(text, expected):
    assert str(parse_goal(text)) == expected


@pytest.mark.parametrize("text", ["", "a b", "Ready=maybe", "jsonpath={.x}", "\x1b[31m", "=True"])
def test_parse_goal_invalid(text):
    with pytest.raises(NimError, match="use Ready, deleted, or a condition") as caught:
        parse_goal(text)
    assert "\x1b" not in str(caught.value)


def condition(kind, status, reason="", message="", seen=None):
    found = {"type": kind, "status": status, "reason": reason, "message": message}
    return found if seen is None else found | {"observedGeneration": seen}


def resource(*conditions, state="", seen=2, **metadata):
    known = {} if seen is None else {"observedGeneration": seen}
    status = {"state": state, "conditions": list(conditions)} | known
    named = {"name": "llm", "namespace": "nim", "uid": "u", "generation": 2}
    return {"kind": "NIMService", "metadata": named | metadata, "status": status}


STALLED = condition("Stalled", "True", "PullFailed", "image x\x1b[2J: fix spec.image")
READY = condition("Ready", "True", "Ready")
NOT_READY = condition("Ready", "False", "NotReady", "rolling")
PAUSED = {"annotations": {"nimops.nim/paused": "true"}}
NEW = {"kind": "NIMService", "metadata": {"name": "llm", "namespace": "nim", "generation": 1}}

CASES = {
    "ready": ("Ready", resource(READY, state="Ready"), MET, "Ready"),
    "ready for an older spec": (
        "Ready",
        resource(READY, state="Ready", seen=1),
        WAITING,
        "Ready: its status is older",
    ),
    "ready, of the reference": ("Ready", resource(READY, state="Ready", seen=None), MET, "Ready"),
    "ready, of the reference on our CRD": ("Ready", resource(READY, seen=-1), MET, "no status yet"),
    "only the condition is old": (
        "Ready",
        resource(READY | {"observedGeneration": 1}, state="Ready", seen=None),
        WAITING,
        "Ready",
    ),
    "no status": ("Ready", NEW, WAITING, "no status yet"),
    "the default status": (
        "Ready",
        NEW | {"status": {"observedGeneration": -1}},
        WAITING,
        "no status yet",
    ),
    "rolling": ("Ready", resource(NOT_READY, state="NotReady"), WAITING, "NotReady: NotReady: rol"),
    "stalled": (
        "Ready",
        resource(NOT_READY, STALLED, state="NotReady"),
        FAILED,
        "NotReady: PullFailed: image x[2J: fix spec.image",
    ),
    "stalled for an older spec": (
        "Ready",
        resource(STALLED, seen=1, state="F"),
        WAITING,
        "F: Pull",
    ),
    "waits for a stall": ("Stalled", resource(STALLED, state="F"), MET, "F: PullFailed"),
    "paused": (
        "Ready",
        resource(state="NotReady", **PAUSED),
        FAILED,
        "NotReady: Paused: it is pau",
    ),
    "paused but ready": ("Ready", resource(READY, state="Ready", **PAUSED), MET, "Ready"),
    "leaving": ("Ready", resource(deletionTimestamp="x"), FAILED, "Terminating: it is being del"),
    "gone": ("Ready", None, FAILED, "Deleted"),
    "another": ("Ready", resource(READY, uid="other"), FAILED, "Deleted"),
    "deletion, there": ("deleted", resource(READY, state="Ready"), WAITING, "Ready: nothing delet"),
    "deletion, leaving": (
        "deleted",
        resource(deletionTimestamp="x", finalizers=["f"]),
        WAITING,
        "Terminating: it is being deleted (finalizers: f)",
    ),
    "deletion, gone": ("deleted", None, MET, "Deleted"),
    "deletion, recreated": ("deleted", resource(uid="other"), MET, "Deleted"),
    "a condition in another case": ("condition=ready=false", resource(NOT_READY), MET, "NotReady"),
    "odd conditions": ("Ready", resource("x", {"type": 1}, {}), WAITING, "no status yet"),
}


@pytest.mark.parametrize(("goal", "live", "outcome", "text"), CASES.values(), ids=CASES)
def test_judge(goal, live, outcome, text):
    found = judge(parse_goal(goal), live, "u")
    assert (found.outcome, str(found)[: len(text)]) == (outcome, text)
