# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Metrics of the operator, and its folders."""

from __future__ import annotations

import pytest
from nimops_harness import runtime
from nimops_harness.metrics import Snapshot, take_snapshot

OURS = 'controller="nimservice-v1alpha1-controller"'
TEXT = f"""
# TYPE workqueue_depth gauge
workqueue_depth{{controller="leases",name="leases",priority=""}} 1000
workqueue_depth{{controller="clusterpolicy-v1-controller",name="clusterpolicy",priority=""}} 9
workqueue_depth{{{OURS},name="nimservice",priority="0"}} 2
workqueue_depth{{{OURS},name="nimservice",priority="-100"}} 95
controller_runtime_active_workers{{{OURS}}} 2
controller_runtime_reconcile_errors_total{{{OURS}}} 1
controller_runtime_reconcile_time_seconds_bucket{{{OURS},le="0.1"}} 3
controller_runtime_reconcile_time_seconds_sum{{{OURS}}} 17.540128
controller_runtime_reconcile_time_seconds_count{{{OURS}}} 6 # {{trace="t"}} 1 2
"""


def test_take_snapshot() -> None:
    assert take_snapshot(TEXT) == Snapshot(6, seconds=17.540128, errors=1, waiting=106, running=2)
    assert take_snapshot("").is_idle


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PATH": "/usr/bin:/bin"}, []),
        ({"PATH": "/usr/bin:/tmp/a/b/bin:/tmp/a/bin"}, ["/tmp/a"]),
        ({"KUBECONFIG": "/tmp/c/kubeconfig"}, ["/tmp/c"]),
        ({"PATH": "/tmpa/bin", "KUBECONFIG": "/var/tmp/k"}, []),
    ],
    ids=["nothing-below-tmp", "programs", "kubeconfig", "other-folders"],
)
def test_list_kept(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: list[str]
) -> None:
    monkeypatch.setattr(runtime, "ROOT", runtime.Path("/checkout"))
    monkeypatch.setattr(runtime.sys, "prefix", "/checkout/.venv")
    monkeypatch.setattr(runtime.sys, "base_prefix", "/usr")
    assert [str(path) for path in runtime.list_kept(environment)] == expected
