# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.operands import toolkit
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.order import OPERANDS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.fields import SpecError


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


VOLUMES = {
    "extraVolumes": [{"name": "libraries", "hostPath": {"path": "/home/kubernetes/bin/nvidia"}}],
    "extraVolumeMounts": [{"name": "libraries", "mountPath": "/usr/local/nvidia-gke"}],
}
FIELDS = {
    "state-driver": "driver",
    "state-container-toolkit": "toolkit",
    "state-operator-validation": "validator",
    "state-device-plugin": "devicePlugin",
    "state-mps-control-daemon": "devicePlugin",
    "state-dcgm": "dcgm",
    "state-dcgm-exporter": "dcgmExporter",
    "gpu-feature-discovery": "gfd",
    "state-mig-manager": "migManager",
    "state-node-status-exporter": "nodeStatusExporter",
}


@pytest.mark.parametrize("operand", OPERANDS, ids=lambda operand: operand.name)
def test_operands_volumes_of_users(gpu, operand):
    """In the pods of its own operand, in the main container."""
    for field in sorted(set(FIELDS.values())):
        app = gpu.app({field: {"enabled": True, **VOLUMES}})
        sets = [item for item in operand.children(app) if item["kind"] == "DaemonSet"]
        for pod in (item["spec"]["template"]["spec"] for item in sets):
            volumes = [item for item in pod["volumes"] if item["name"] == "libraries"]
            mounts = [
                item
                for container in [*pod.get("initContainers", []), *pod["containers"]]
                for item in container.get("volumeMounts") or []
                if item["name"] == "libraries"
            ]
            is_own = field == FIELDS.get(operand.name)
            assert volumes == (VOLUMES["extraVolumes"] if is_own else [])
            assert mounts == (VOLUMES["extraVolumeMounts"] if is_own else [])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"extraVolumes": [{"name": "x"}, {"name": "host-root"}]},
            'toolkit.extraVolumes[1].name: "host-root" is in use in these pods already:'
            " choose another one",
            id="volume of the operator",
        ),
        pytest.param(
            {"extraVolumes": [{"name": "x"}, {"name": "x"}]},
            'toolkit.extraVolumes[1].name: "x" is in use in these pods already: choose another one',
            id="volume twice",
        ),
        pytest.param(
            {"extraVolumeMounts": [{"name": "host-root", "mountPath": "/driver-root"}]},
            'toolkit.extraVolumeMounts[0].mountPath: "/driver-root" is in use in these pods'
            " already: choose another one",
            id="path of the operator",
        ),
        pytest.param(
            {"extraVolumeMounts": [{"name": "y", "mountPath": "/y"}]},
            'toolkit.extraVolumeMounts[0].name: the pods have no volume "y":'
            " add it to toolkit.extraVolumes",
            id="no volume",
        ),
    ],
)
def test_operands_volumes_refused(gpu, fields, message):
    app = gpu.app({"toolkit": fields})
    with pytest.raises(SpecError) as raised:
        list(toolkit.OPERAND.children(app))
    assert str(raised.value) == message
