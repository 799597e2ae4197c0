# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The operator's metrics, as its endpoint writes them."""

from __future__ import annotations

import pytest
from nimops_harness.metrics import Snapshot, count_requests, parse_samples, take_snapshot

OURS = 'controller="nimservice-v1alpha1-controller"'
OTHER = 'controller="clusterpolicy-v1-controller"'
FOREIGN = 'controller="leases"'
TEXT = f"""
# HELP workqueue_depth Current depth of workqueue
# TYPE workqueue_depth gauge
workqueue_depth{{{FOREIGN},name="leases",priority=""}} 1000
workqueue_depth{{{OTHER},name="clusterpolicy",priority=""}} 9
workqueue_depth{{{OURS},name="nimservice",priority="0"}} 2
workqueue_depth{{{OURS},name="nimservice",priority="-100"}} 95
controller_runtime_active_workers{{{OURS}}} 2
controller_runtime_reconcile_errors_total{{{OURS}}} 1
controller_runtime_reconcile_time_seconds_bucket{{{OURS},le="0.1"}} 3
controller_runtime_reconcile_time_seconds_sum{{{OURS}}} 17.540128
controller_runtime_reconcile_time_seconds_count{{{OURS}}} 6
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TEXT, Snapshot(finished=6, seconds=17.540128, errors=1, waiting=106, running=2)),
        ("", Snapshot(finished=0, seconds=0, errors=0, waiting=0, running=0)),
    ],
    ids=["busy", "just-started"],
)
def test_take_snapshot(text: str, expected: Snapshot) -> None:
    assert take_snapshot(text) == expected


@pytest.mark.parametrize(
    ("waiting", "running", "idle"), [(0, 0, True), (1, 0, False), (0, 1, False)]
)
def test_is_idle(waiting: int, running: int, idle: bool) -> None:
    assert Snapshot(1, 1.0, 0, waiting, running).is_idle is idle


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("up 1", ("up", {}, 1.0)),
        ('a{x="1, b=\\"2\\" }"} 2.5e-05', ("a", {"x": '1, b=\\"2\\" }'}, 2.5e-05)),
        ('a{x="1"} 3 # {trace="t"} 1 2', ("a", {"x": "1"}, 3.0)),
    ],
    ids=["no-labels", "quotes-and-braces", "exemplar"],
)
def test_parse_samples(line: str, expected: tuple[str, dict[str, str], float]) -> None:
    assert list(parse_samples(line)) == [expected]


def test_requests_of_all_kinds_are_counted() -> None:
    text = """
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",verb="GET"} 40
apiserver_request_total{code="404",verb="GET"} 2
apiserver_request_total_other{code="200"} 1000
etcd_requests_total{code="200"} 7
"""
    assert count_requests(text) == 42
