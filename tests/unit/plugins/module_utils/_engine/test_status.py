# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import copy
import random
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import Assessment
from ansible_collections.nimops.nim.plugins.module_utils._engine.status import (
    format_time,
    merge_patch,
    requeue_period,
    status_of,
    stored_status,
    wake_period,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("elapsed", "period"),
    [
        (-30, "1s"),
        (0, "1s"),
        (9, "1s"),
        (19, "1s"),
        (20, "2s"),
        (45, "4s"),
        (60, "5s"),
        (600, "5s"),
        (601, "15s"),
        (86400, "15s"),
    ],
)
def test_requeue_period_grows(elapsed, period):
    since = format_time(NOW - timedelta(seconds=elapsed))
    created = {"metadata": {"creationTimestamp": since}}
    assert requeue_period(created, {"conditions": []}, NOW) == period
    old = {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}
    conditions = [{"lastTransitionTime": "2021-01-01T00:00:00Z"}, {"lastTransitionTime": since}]
    assert requeue_period(old, {"conditions": conditions}, NOW) == period
    assert requeue_period({"metadata": {}}, {"conditions": []}, NOW) == "1s"


def test_requeue_period_at_least():
    elapsed, periods = 0, []
    while elapsed < 3600:
        since = format_time(NOW - timedelta(seconds=elapsed))
        created = {"metadata": {"creationTimestamp": since}}
        periods.append(int(requeue_period(created, {"conditions": []}, NOW, at_least=5)[:-1]))
        elapsed += periods[-1]
    assert periods[:3] == [5, 5, 5]
    assert periods[-1] == 300
    assert len(periods) < 35, "in the first hour"


def test_wake_period():
    """The first pass is early: an event may precede the runtime's watch of the child."""
    elapsed, periods = 0, []
    while elapsed < 600:
        since = format_time(NOW - timedelta(seconds=elapsed))
        created = {"metadata": {"creationTimestamp": since}}
        periods.append(int(wake_period(created, {"conditions": []}, NOW, is_watched=True)[:-1]))
        elapsed += periods[-1]
    assert periods == [30, 300, 300]


def test_wake_period_unwatched():
    created = {"metadata": {"creationTimestamp": format_time(NOW - timedelta(seconds=90))}}
    assert wake_period(created, {"conditions": []}, NOW, is_watched=False) == "5s"


def test_requeue_period_stalled():
    stalled = condition("Stalled", True, "JobFailed") | {"lastTransitionTime": format_time(NOW)}
    assert requeue_period({"metadata": {}}, {"conditions": [stalled]}, NOW) == "4s"


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": {"b": 1}}, {"a": "x"}, {"a": "x"}),
        ({"a": "x"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": [1, 2]}, {"a": [2]}, {"a": [2]}),
        ({"a": 0}, {"a": ""}, {"a": ""}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({}, {"a": None}, {}),
        ({}, {"a": {}}, {"a": {}}),
    ],
)
def test_merge_patch(old, new, patch):
    assert merge_patch(old, new) == patch


def some(rng, depth=0):
    if depth < 3 and rng.random() < 0.6:
        return {rng.choice("abcd"): some(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice([0, 1, "", "x", True, False, [], [1], [{"a": 1}], {}])


def test_merge_patch_reproduces_new(merge_json):
    rng = random.Random(7)
    for _index in range(3000):
        old, new = ({key: some(rng) for key in "abcd" if rng.random() < 0.7} for _ in range(2))
        before = copy.deepcopy((old, new))
        patch = merge_patch(old, new)
        assert merge_json(old, patch) == new
        assert merge_patch(merge_json(old, patch), new) == {}
        assert (old, new) == before


UNSEEN_STATUSES = {
    "none": ({}, True),
    "of the CRD": ({"observedGeneration": -1}, True),
    "of a CRD that requires a state": ({"observedGeneration": -1, "state": "notReady"}, True),
    "of the reference": ({"state": "Ready", "conditions": [{"type": "Ready"}]}, False),
    "of the reference, added to that of the CRD": (
        {"observedGeneration": -1, "state": "Ready", "conditions": [{"type": "Ready"}]},
        False,
    ),
    "ours": ({"observedGeneration": 1, "state": "Ready", "conditions": []}, False),
}


@pytest.mark.parametrize(("status", "is_new"), UNSEEN_STATUSES.values(), ids=UNSEEN_STATUSES)
def test_status_of(status, is_new):
    assert status_of({"status": status}) == ({} if is_new else status)


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([condition("Ready", True, "Ready")], None),
        ([condition("Ready", False, "NotReady")], "NotReady"),
        ([condition("Stalled", True, "Quota"), condition("Ready", False, "NotReady")], "Quota"),
    ],
)
def test_stored_status_reason(conditions, reason):
    """The reason of an earlier pass, which is part of the assessed status, does not stay."""
    resource = {"metadata": {"generation": 2}}
    assessed = {"state": "NotReady", "reason": "Earlier", "conditions": conditions}
    status = stored_status(resource, Assessment(assessed), NOW)
    assert status.get("reason") == reason
    assert "reason" not in status or status["reason"]
    again = stored_status(resource, Assessment(status), NOW)
    assert merge_patch(status, again) == {}
