# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.services import (
    build_stack_monitor,
    build_stack_service,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.spec import Monitor


def test_build_stack_service(gpu):
    found = build_stack_service(gpu.app({}), "x", "metrics", 9400)
    assert found["metadata"]["labels"] == {"app": "x"}
    assert found["metadata"]["annotations"] == {"prometheus.io/scrape": "true"}
    assert found["spec"]["selector"] == {"app": "x"}
    (port,) = found["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("metrics", 9400, 9400)
    quiet = build_stack_service(gpu.app({}), "x", "metrics", 9400, is_scraped=False)
    assert "annotations" not in quiet["metadata"]


def test_build_stack_monitor_settings(gpu):
    endpoint = {"interval": "15s", "honorLabels": False, "relabelings": [{"action": "drop"}]}
    given = Monitor(True, endpoint, {"app": "mine", "release": "p"})
    found = build_stack_monitor(gpu.app({}), "x", "metrics", "app", given)
    assert found["metadata"]["labels"] == {"app": "mine", "release": "p"}
    assert found["spec"]["endpoints"] == [{"path": "/metrics", "port": "metrics", **endpoint}]
    assert found["spec"]["namespaceSelector"] == {"matchNames": ["gpu-operator"]}


def test_build_stack_monitor_defaults(gpu):
    found = build_stack_monitor(gpu.app({}), "x", "metrics", "app", Monitor())
    assert found["spec"]["endpoints"] == [{"path": "/metrics", "port": "metrics"}]
