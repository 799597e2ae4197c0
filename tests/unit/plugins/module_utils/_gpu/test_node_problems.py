# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._gpu.components import COMPONENTS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.node_problems import (
    problem_of_kubelet,
    problem_of_taints,
    problems_of_labels,
    problems_of_validation,
    selected_nodes,
    write_problems,
)

DEPLOY, MIG = "nvidia.com/gpu.deploy.", "nvidia.com/mig.config"
ALL = [item.name for item in COMPONENTS]
MIG_PAUSE = {f"{DEPLOY}{name}": "paused-for-mig-change" for name in ("device-plugin", "dcgm")}
LAYOUT = {MIG: "all-1g.10gb"}


def node_of(labels=None, taints=(), *, ready=True, name="gpu-1"):
    deployed = {f"{DEPLOY}{name}": "true" for name in ALL}
    return {
        "metadata": {"name": name, "labels": deployed | (labels or {})},
        "spec": {"taints": list(taints)},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def daemon_set(tolerations=None, owner=None, **pod):
    spec = {"nodeSelector": {f"{DEPLOY}dcgm": "true"}, "tolerations": tolerations, **pod}
    owners = [{"controller": True, **owner}] if owner else []
    return {
        "metadata": {"name": "nvidia-dcgm", "ownerReferences": owners},
        "spec": {"template": {"spec": spec}},
    }


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({}, [], id="all run"),
        pytest.param(LAYOUT | {f"{MIG}.state": "success"}, [], id="MIG is done"),
        pytest.param(LAYOUT, [], id="MIG has no state yet"),
        pytest.param({f"{DEPLOY}dcgm": "false"}, [], id="off"),
        pytest.param({f"{DEPLOY}driver": "pre-installed"}, [], id="driver of the host"),
        pytest.param(
            LAYOUT | {f"{MIG}.state": "failed", f"{DEPLOY}mig-manager": "false"},
            [],
            id="the MIG manager is off",
        ),
        pytest.param(
            LAYOUT | {f"{MIG}.state": "pending"} | MIG_PAUSE,
            [
                "node gpu-1 waits for the MIG manager to apply nvidia.com/mig.config=all-1g.10gb:"
                " its label nvidia.com/mig.config.state is pending, and the labels"
                " nvidia.com/gpu.deploy.device-plugin, nvidia.com/gpu.deploy.dcgm are paused: if"
                " this lasts, read the log of nvidia-mig-manager, and change"
                " nvidia.com/mig.config, or set them to true"
            ],
            id="MIG is pending",
        ),
        pytest.param(
            LAYOUT | {f"{MIG}.state": "failed"},
            [
                "node gpu-1 waits for a MIG layout that can be applied, because"
                " nvidia.com/mig.config=all-1g.10gb was not: its label"
                " nvidia.com/mig.config.state is failed: remove the pods with GPUs from the node,"
                " and change nvidia.com/mig.config"
            ],
            id="MIG failed",
        ),
        pytest.param(
            LAYOUT | {f"{DEPLOY}device-plugin": "paused-for-mig-change"},
            [
                "node gpu-1 waits for the MIG manager to apply nvidia.com/mig.config=all-1g.10gb:"
                " its label nvidia.com/mig.config.state is not set, and the label"
                " nvidia.com/gpu.deploy.device-plugin is paused: if this lasts, read the log of"
                " nvidia-mig-manager, and change nvidia.com/mig.config, or set it to true"
            ],
            id="joined with a layout",
        ),
        pytest.param(
            MIG_PAUSE,
            [
                "node gpu-1 waits for the labels nvidia.com/gpu.deploy.device-plugin,"
                " nvidia.com/gpu.deploy.dcgm, which are paused-for-mig-change, to be true again:"
                " if this lasts, read the log of nvidia-mig-manager, and set them to true"
            ],
            id="pause without a MIG state",
        ),
        pytest.param(
            {f"{DEPLOY}driver": "paused-for-driver-upgrade"},
            [
                "node gpu-1 waits for the label nvidia.com/gpu.deploy.driver, which is"
                " paused-for-driver-upgrade, to be true again: if this lasts, read the log of"
                " k8s-driver-manager, and set it to true"
            ],
            id="pause of the driver manager",
        ),
        pytest.param(
            {
                f"{DEPLOY}dcgm": "paused-for-driver-upgrade",
                "nvidia.com/gpu-driver-upgrade-state": "pod-restart-required",
            },
            [],
            id="the upgrade explains it",
        ),
    ],
)
def test_problems_of_labels(labels, expected):
    assert [str(item) for item in problems_of_labels(node_of(labels), ALL)] == expected


def test_problems_of_labels_not_deployed():
    labels = LAYOUT | {f"{MIG}.state": "failed"} | MIG_PAUSE
    assert problems_of_labels(node_of(labels), ["driver"]) == []


def test_problems_of_labels_cause_first():
    labels = LAYOUT | {f"{MIG}.state": "pending"} | MIG_PAUSE
    labels[f"{DEPLOY}dcgm-exporter"] = "paused-for-driver-upgrade"
    found = problems_of_labels(node_of(labels), ALL)
    assert [item.components for item in found] == [
        ("mig-manager", "device-plugin", "dcgm"),
        ("dcgm-exporter",),
    ]


FOO = {"key": "foo", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("taint", "tolerations", "shown"),
    [
        (FOO, [], "foo:NoSchedule"),
        ({**FOO, "value": "bar"}, [{"key": "foo", "value": "baz"}], "foo=bar:NoSchedule"),
        (FOO, [{"key": "foo", "operator": "Exists", "effect": "NoExecute"}], "foo:NoSchedule"),
        ({**FOO, "effect": "NoExecute"}, [], "foo:NoExecute"),
        (FOO, [{"key": "foo", "operator": "Exists"}], None),
        (FOO, [{"operator": "Exists"}], None),
        ({**FOO, "value": "bar"}, [{"key": "foo", "value": "bar"}], None),
        ({**FOO, "effect": "PreferNoSchedule"}, [], None),
        ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, [], None),
    ],
)
def test_problem_of_taints(taint, tolerations, shown):
    found = problem_of_taints(node_of(taints=[taint]), daemon_set(tolerations))
    assert (found and str(found)) == (
        shown
        and f"node gpu-1 waits for a pod, which does not tolerate the taint {shown} of the node:"
        " remove the taint, tolerate it in daemonsets.tolerations, or set the label"
        " nvidia.com/gpu.deploy.operands=false"
    )


def test_problem_of_taints_nvidia_driver():
    owner = {"kind": "NVIDIADriver", "name": "a", "uid": "u"}
    found = problem_of_taints(node_of(taints=[FOO]), daemon_set(owner=owner))
    assert "tolerate it in spec.tolerations of NVIDIADriver a" in found.advice


def test_problem_of_taints_not_ready():
    found = problem_of_taints(node_of(ready=False), daemon_set())
    assert (found.component, found.is_fault) == ("dcgm", True)
    assert "the node is NotReady" in found.waits


def test_problem_of_kubelet():
    assert problem_of_kubelet(node_of()) is None
    assert problem_of_kubelet(node_of(ready=False)).is_fault


@pytest.mark.parametrize(
    ("labels", "needs", "expected"),
    [
        ({}, "", []),
        ({f"{DEPLOY}device-plugin": "false"}, "", ["device-plugin"]),
        ({f"{DEPLOY}device-plugin": "false"}, "device-plugin", ["device-plugin"]),
        ({f"{DEPLOY}device-plugin": "false"}, "driver", []),
        ({f"{DEPLOY}driver": "false", f"{DEPLOY}container-toolkit": "false"}, "driver", ["driver"]),
        ({f"{DEPLOY}device-plugin": "false", f"{DEPLOY}operator-validator": "false"}, "", []),
    ],
)
def test_problems_of_validation(labels, needs, expected):
    found = problems_of_validation(node_of(labels), ALL, needs)
    shown = [f"its label {DEPLOY}{name} is false" for name in expected]
    assert [item.waits.partition(", but ")[2] for item in found] == shown
    assert problems_of_validation(node_of(labels), ["dcgm"], needs) == []


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({}, True),
        ({"nodeSelector": {"a": "b"}}, False),
        ({"affinity": {"nodeAffinity": {}}}, False),
    ],
)
def test_selected_nodes(pod, expected):
    nodes = [node_of()]
    assert selected_nodes(daemon_set(**pod), nodes) == (nodes if expected else [])


def test_selected_nodes_without_spec():
    nodes = [node_of(), node_of({f"{DEPLOY}dcgm": "false"})]
    assert selected_nodes({"metadata": {"name": "nvidia-dcgm"}}, nodes) == nodes[:1]
    assert selected_nodes({"metadata": {"name": "other"}}, nodes) == []


def test_write_problems_bounds():
    nodes = [node_of(ready=number != 4, name=f"n{number}") for number in range(6)]
    failed = node_of(LAYOUT | {f"{MIG}.state": "failed"}, name="z")
    problems = [problem_of_kubelet(nodes[4])] * 2 + problems_of_labels(failed, ALL)
    problems += [
        problem_of_taints({**node, "spec": {"taints": [FOO]}}, daemon_set()) for node in nodes[:3]
    ]
    found = write_problems(problems)
    assert [text.split()[1] for text in found[:3]] == ["n4", "z", "n0"]
    assert found[3:] == ["2 more problems of nodes"]
