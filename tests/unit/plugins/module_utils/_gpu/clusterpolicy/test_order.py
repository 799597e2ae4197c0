# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.order import OPERANDS


def test_operands_order():
    assert [operand.name for operand in OPERANDS] == [
        "pre-requisites",
        "state-operator-metrics",
        "state-driver",
        "state-container-toolkit",
        "state-operator-validation",
        "state-device-plugin",
        "state-mps-control-daemon",
        "state-dcgm",
        "state-dcgm-exporter",
        "gpu-feature-discovery",
        "state-mig-manager",
        "state-node-status-exporter",
    ]


def test_operands_distinct_objects(gpu):
    app = gpu.app({})
    names = [name for operand in OPERANDS for name in operand.names(app)]
    assert len(names) == len(set(names))


def test_operands_list_their_objects(gpu):
    """An unlisted object would never be read or deleted."""
    app = gpu.app(
        {
            "nodeStatusExporter": {"enabled": True},
            "dcgmExporter": {"enablePodUID": True, "serviceMonitor": {"enabled": True}},
        }
    )
    for operand in OPERANDS:
        made = {(item["kind"], item["metadata"]["name"]) for item in operand.children(app)}
        assert made <= set(operand.names(app)), operand.name


def test_operands_no_daemon_set_without_node(gpu):
    app = gpu.app({"nodeStatusExporter": {"enabled": True}}, nodes=[])
    kinds = {item["kind"] for operand in OPERANDS for item in operand.children(app)}
    assert "DaemonSet" not in kinds
    assert {"Role", "Service", "ConfigMap", "RuntimeClass"} <= kinds


def test_operands_written_defaults(gpu):
    """Defaults that are written out change nothing, so they restart nothing at a takeover."""
    written = {
        "hostPaths": {
            "rootFS": "/",
            "driverInstallDir": "/run/nvidia/driver",
            "kubeletRootDir": "/var/lib/kubelet",
        },
        "toolkit": {"installDir": "/usr/local/nvidia"},
        "devicePlugin": {"mps": {"root": "/run/nvidia/mps"}},
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": {
            "priorityClassName": "system-node-critical",
            "updateStrategy": "RollingUpdate",
        },
        "cdi": {"enabled": True, "nriPluginEnabled": False},
        "nodeStatusExporter": {"enabled": True},
    }
    spec = {"nodeStatusExporter": {"enabled": True}}
    for operand in OPERANDS:
        short, long = (gpu.children(operand, gpu.app(item)) for item in (spec, written))
        assert long == short, operand.name
