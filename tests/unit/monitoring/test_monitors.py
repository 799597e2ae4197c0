# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The part of the Prometheus operator: targets of ServiceMonitors."""

from __future__ import annotations

from typing import Any

import pytest
from nimops_monitors import find_address, make_jobs

SERVICE = {
    "metadata": {"name": "llama", "namespace": "nim", "labels": {"app": "llama"}},
    "spec": {"clusterIP": "127.96.0.1", "ports": [{"name": "api", "port": 8000}]},
}
ELSEWHERE = {**SERVICE, "metadata": {**SERVICE["metadata"], "namespace": "other"}}


def make_monitor(labels: dict[str, str], **endpoint: Any) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": labels}, "endpoints": [{"port": "api", **endpoint}]}
    return {"metadata": {"name": "m", "namespace": "nim"}, "spec": spec}


def test_make_jobs():
    [job] = make_jobs(make_monitor({"app": "llama"}, path="/v1/metrics"), [ELSEWHERE, SERVICE], 1)
    assert job["static_configs"] == [
        {"targets": ["127.96.0.1:8000"], "labels": {"namespace": "nim", "service": "llama"}}
    ]
    assert job["metrics_path"] == "/v1/metrics"
    assert job["honor_labels"] is False


def test_make_jobs_other_labels():
    [job] = make_jobs(make_monitor({"app": "other"}), [SERVICE], 1)
    assert job["static_configs"] == []


@pytest.mark.parametrize(("port", "targets"), [(4000, ["127.0.0.1:4000"]), (None, [])])
def test_make_jobs_operator(port, targets):
    monitor = make_monitor({"app.kubernetes.io/name": "nimops"}, honorLabels=True)
    [job] = make_jobs(monitor, [SERVICE], port)
    assert job["static_configs"] == [{"targets": targets, "labels": {"namespace": "nim"}}]
    assert job["honor_labels"] is True


def test_find_address():
    assert find_address(SERVICE, "api") == "127.96.0.1:8000"
    assert find_address(SERVICE, "grpc") == ""
