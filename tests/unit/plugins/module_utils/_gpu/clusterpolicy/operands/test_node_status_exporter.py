# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands.node_status_exporter import (
    OPERAND,
)

NAME = "nvidia-node-status-exporter"
ON = {"nodeStatusExporter": {"enabled": True}}


def test_node_status_exporter_default_off(gpu):
    assert not OPERAND.is_enabled(gpu.app({}).spec)
    assert OPERAND.is_enabled(gpu.app(ON).spec)


def test_node_status_exporter_pod(gpu):
    pod = gpu.pod(OPERAND, gpu.app(ON))
    assert "initContainers" not in pod
    assert "runtimeClassName" not in pod
    main = gpu.container(pod, NAME)
    assert main["image"] == gpu.app({}).validator_image
    assert gpu.env(main)["METRICS_PORT"] == "8000"


def test_node_status_exporter_settings(gpu):
    given = {"enabled": True, "image": "r.test/n:1", "env": [{"name": "A", "value": "1"}]}
    app = gpu.app({"nodeStatusExporter": given, "validator": {"image": "r.test/v:1"}})
    main = gpu.container(gpu.pod(OPERAND, app), NAME)
    assert (main["image"], gpu.env(main)["A"]) == ("r.test/n:1", "1")


def test_node_status_exporter_constraint(gpu):
    rules = gpu.children(OPERAND, gpu.app(ON))["Role", NAME]["rules"]
    assert "resourceNames" not in rules[0]


def test_node_status_exporter_metrics(gpu):
    found = gpu.children(OPERAND, gpu.app(ON))
    assert found["Service", NAME]["spec"]["ports"][0]["port"] == 8000
    assert found["ServiceMonitor", NAME]["spec"]["jobLabel"] == "node-status"
    assert ("ServiceMonitor", NAME) not in gpu.children(OPERAND, gpu.app(ON, has_monitors=False))
