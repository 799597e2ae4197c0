# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.operator_metrics import (
    OPERAND,
)


def test_operator_metrics(gpu):
    given = {"enabled": False, "interval": "30s"}
    app = gpu.app({"operator": {"metrics": {"serviceMonitor": given}}})
    found = gpu.children(OPERAND, app)
    assert list(found) == [("Service", "gpu-operator"), ("ServiceMonitor", "gpu-operator")]
    endpoint = found["ServiceMonitor", "gpu-operator"]["spec"]["endpoints"][0]
    assert endpoint == {"path": "/metrics", "port": "gpu-operator-metrics", "interval": "30s"}


def test_operator_metrics_without_monitors(gpu):
    found = gpu.children(OPERAND, gpu.app({}, has_monitors=False))
    assert list(found) == [("Service", "gpu-operator")]
