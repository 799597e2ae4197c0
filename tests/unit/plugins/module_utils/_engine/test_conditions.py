# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import (
    MAX_MESSAGE,
    condition,
    drop_condition,
    find_condition,
    find_reason,
    set_condition,
    set_progress,
    stamp,
)

READY = condition("Ready", True, "Ready")
FAILED = condition("Failed", False, "Ready", "m")
THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def test_condition():
    assert condition("Ready", False, "R", "m") == {
        "type": "Ready",
        "status": "False",
        "reason": "R",
        "message": "m",
    }
    assert len(condition("Ready", True, "R", "x" * 99999)["message"]) == MAX_MESSAGE


@pytest.mark.parametrize(
    ("conditions", "new", "expected"),
    [
        pytest.param(None, READY, [READY], id="none"),
        pytest.param([FAILED], READY, [FAILED, READY], id="at the end"),
        pytest.param(
            [condition("Ready", False, "x"), FAILED], READY, [READY, FAILED], id="in its place"
        ),
    ],
)
def test_set_condition(conditions, new, expected):
    before = copy.deepcopy(conditions)
    assert set_condition(conditions, new) == expected
    assert conditions == before


def test_find_condition_and_drop_condition():
    assert find_condition(None, "Ready") is None
    assert find_condition([FAILED, READY], "Ready") is READY
    assert find_condition([None, 1.5, "Ready", READY], "Ready") is READY
    assert find_condition({"type": "Ready"}, "Ready") is None
    assert drop_condition([FAILED, READY], "Ready", "Other") == [FAILED]
    assert drop_condition(None, "Ready") == []


def test_set_progress_lists_only_true():
    moving = set_progress([READY], reconciling=("ApplyRun", "1 of 2"))
    assert [item["type"] for item in moving] == ["Ready", "Reconciling"]
    stuck = set_progress(moving, stalled=("Failed", "no"))
    assert [(item["type"], item["reason"]) for item in stuck] == [
        ("Ready", "Ready"),
        ("Stalled", "Failed"),
    ]
    assert set_progress(stuck) == [READY]


@pytest.mark.parametrize(
    ("previous", "since"),
    [
        pytest.param(None, NOW, id="new"),
        pytest.param([READY | {"lastTransitionTime": THEN}], THEN, id="same"),
        pytest.param(
            [READY | {"lastTransitionTime": THEN, "reason": "x"}], THEN, id="other reason"
        ),
        pytest.param([READY | {"lastTransitionTime": THEN, "status": "False"}], NOW, id="changed"),
        pytest.param([READY | {"lastTransitionTime": None}], NOW, id="without a time"),
    ],
)
def test_stamp(previous, since):
    stamped = stamp([READY], previous, NOW, 3)
    assert stamped == [READY | {"lastTransitionTime": since, "observedGeneration": 3}]
    assert "lastTransitionTime" not in READY


def test_stamp_skips_untouched():
    old = READY | {"lastTransitionTime": THEN, "observedGeneration": 1}
    assert stamp([old], [old], NOW, 3) == [old]


PAUSED = condition("Paused", True, "Paused")
NOT_READY = condition("Ready", False, "NotReady", "pods\n  wait")
RECONCILING = condition("Reconciling", True, "Retrying", "r")
STALLED = condition("Stalled", True, "Quota", "s")
BROKEN = condition("Failed", True, "NIMCacheNotFound", "f")
REASONS = {
    "none": ({}, ("", "")),
    "no reason": ({"conditions": [{"type": "Ready", "status": "False"}]}, ("", "")),
    "Ready": ({"state": "Ready", "conditions": [READY, FAILED]}, ("", "")),
    "ready in lowercase": (
        {"state": "ready", "conditions": [READY, condition("Error", False, "Ready")]},
        ("", ""),
    ),
    "Ready, and waits": ({"state": "Ready", "conditions": [RECONCILING, READY]}, ("Retrying", "r")),
    "not ready": (
        {"state": "NotReady", "conditions": [NOT_READY, FAILED]},
        ("NotReady", "pods wait"),
    ),
    "failed": (
        {"state": "Failed", "conditions": [condition("Ready", False, "Failed"), BROKEN, STALLED]},
        ("NIMCacheNotFound", "f"),
    ),
    "error": (
        {
            "state": "notReady",
            "conditions": [condition("Ready", False, "Error"), condition("Error", True, "X", "e")],
        },
        ("X", "e"),
    ),
    "stalled": ({"conditions": [NOT_READY, RECONCILING, STALLED]}, ("Quota", "s")),
    "paused": ({"state": "Failed", "conditions": [BROKEN, PAUSED]}, ("Paused", "")),
}


@pytest.mark.parametrize(("status", "expected"), REASONS.values(), ids=REASONS)
def test_find_reason(status, expected):
    assert find_reason(status) == expected


@pytest.mark.parametrize(("status", "expected"), REASONS.values(), ids=REASONS)
def test_find_reason_any_order(status, expected):
    mirrored = status | {"conditions": list(reversed(status.get("conditions", [])))}
    assert find_reason(mirrored) == expected
