# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.node_status import (
    Log,
    StackView,
    find_stack_problems,
    logs_to_read,
    status_of_nodes,
    with_logs,
)
from ansible_collections.nimops.nim.plugins.module_utils._commands.gpu.simulated_upgrade import (
    SimulatedUpgrade,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.components import COMPONENTS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade import labels, states
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.controller import take_step
from ansible_collections.nimops.nim.plugins.module_utils._gpu.upgrade.policy import parse_policy

APPS = {item.name: item.app for item in COMPONENTS}
DEPLOYED = [name for name in APPS if name not in ("mig-manager", "node-status-exporter")]
READY = {"type": "Ready", "status": "True"}
UNREADY = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def node_of(gpu, name="n", **more):
    labels = {f"nvidia.com/gpu.deploy.{item}": "true" for item in APPS}
    return gpu.node(name, labels=labels | more.pop("labels", {}), **more)


def pod_of(component, init="", state=None, node="n", **more):
    statuses = [{"name": init or "main", "ready": False, "restartCount": 0, "state": state, **more}]
    field = "initContainerStatuses" if init else "containerStatuses"
    is_ready = state is None
    return {
        "metadata": {
            "name": f"{component}-{node}",
            "namespace": "gpu",
            "uid": f"{component}-{node}",
            "labels": {"app": APPS[component]},
        },
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [READY]}
        if is_ready
        else {"phase": "Pending", "conditions": [UNREADY], field: statuses},
    }


RUNNING = {"running": {"startedAt": "2026-01-01T00:05:00Z"}}
CRASHED = {"waiting": {"reason": "CrashLoopBackOff"}}
ENDED = {"lastState": {"terminated": {"reason": "Error", "exitCode": 1}}, "restartCount": 2}


def status_of(nodes, pods=(), deployed=DEPLOYED, **more):
    daemon_sets = [
        {"metadata": {"name": APPS[name], "labels": {"app": APPS[name]}}} for name in deployed
    ]
    return status_of_nodes(StackView(nodes, pods, daemon_sets, **more))


def stack(node="n", **troubles):
    """All pods of a node, ready but for these."""
    given = {key.replace("_", "-"): value for key, value in troubles.items()}
    return [pod_of(name, node=node, **given.get(name, {})) for name in DEPLOYED]


WAITS_FOR_DRIVER = {"init": "driver-validation", "state": RUNNING}
WAITS_FOR_TOOLKIT = {"init": "toolkit-validation", "state": RUNNING}
CHAIN = {
    "container_toolkit": WAITS_FOR_DRIVER,
    "operator_validator": WAITS_FOR_DRIVER,
    **dict.fromkeys(
        ("device_plugin", "dcgm", "dcgm_exporter", "gpu_feature_discovery"), WAITS_FOR_TOOLKIT
    ),
}


def test_status_ready(gpu):
    (found,) = status_of([node_of(gpu)], stack())
    assert found.to_dict() == {"node": "n", "state": "Ready", "upgrade": "", "troubles": []}


def test_status_first_of_chain(gpu):
    (found,) = status_of([node_of(gpu)], stack(driver={"state": RUNNING}, **CHAIN))
    (trouble,) = found.troubles
    assert (found.state, trouble.component, trouble.pod) == ("Waiting", "driver", "gpu/driver-n")
    assert trouble.since == "2026-01-01T00:05:00Z"
    assert str(trouble.log) == "kubectl -n gpu logs driver-n -c main"
    assert trouble.blocks == (
        *("container-toolkit", "operator-validator", "device-plugin", "dcgm"),
        *("dcgm-exporter", "gpu-feature-discovery"),
    )


def test_status_driver_crash(gpu):
    pods = stack(driver={"state": CRASHED, **ENDED}, **CHAIN)
    (found,) = status_of([node_of(gpu)], pods)
    (trouble,) = found.troubles
    assert (found.state, trouble.is_fault) == ("Failed", True)
    assert str(trouble.log) == "kubectl -n gpu logs driver-n -c main --previous"


def test_status_independent_faults(gpu):
    more = CHAIN | {"dcgm_exporter": {"state": CRASHED, **ENDED}}
    (found,) = status_of([node_of(gpu)], stack(driver={"state": RUNNING}, **more))
    assert [item.component for item in found.troubles] == ["driver", "dcgm-exporter"]
    assert found.state == "Failed"


def test_status_validator_blocks(gpu):
    failing = {"init": "toolkit-validation", "state": CRASHED, **ENDED}
    pods = stack(operator_validator=failing, device_plugin=WAITS_FOR_TOOLKIT)
    (found,) = status_of([node_of(gpu)], pods)
    (trouble,) = found.troubles
    assert (trouble.component, trouble.blocks) == ("operator-validator", ("device-plugin",))


def test_status_dependent_fault_omitted(gpu):
    failing = {"init": "toolkit-validation", "state": CRASHED, **ENDED}
    pods = stack(container_toolkit={"state": RUNNING}, operator_validator=failing)
    (found,) = status_of([node_of(gpu)], pods)
    (trouble,) = found.troubles
    assert (trouble.component, trouble.blocks) == ("container-toolkit", ("operator-validator",))


def test_status_driver_of_host(gpu):
    deployed = [name for name in DEPLOYED if name != "driver"]
    pods = [pod for pod in stack(**CHAIN) if not pod["metadata"]["name"].startswith("driver")]
    (found,) = status_of([node_of(gpu)], pods, deployed)
    assert found.troubles[0].component == "container-toolkit"
    assert "install one on the node" in found.troubles[0].advice
    names = [log.pod for log in logs_to_read([found], 9)]
    assert "container-toolkit-n" not in names, "what is explained needs no log"


@pytest.mark.parametrize(
    ("labels", "state", "component", "waits"),
    [
        ({"nvidia.com/gpu.deploy.operands": "false"}, "Off", "", ""),
        ({"nvidia.com/gpu.deploy.driver": "false"}, "Ready", "", ""),
        (
            {"nvidia.com/gpu.deploy.driver": "paused-for-driver-upgrade"},
            "Waiting",
            "driver",
            "the label nvidia.com/gpu.deploy.driver, which is paused-for-driver-upgrade",
        ),
        ({"nvidia.com/gpu.deploy.driver": "pre-installed"}, "Ready", "", ""),
        ({}, "Waiting", "driver", "a pod: its DaemonSet has none here"),
        (
            {"nvidia.com/gpu.present": "", "feature.node.kubernetes.io/pci-10de.present": "true"},
            "Waiting",
            "labels",
            "its label nvidia.com/gpu.present",
        ),
    ],
)
def test_status_labels(gpu, labels, state, component, waits):
    pods = [pod for pod in stack() if not pod["metadata"]["name"].startswith("driver")]
    (found,) = status_of([node_of(gpu, labels=labels)], pods)
    assert found.state == state
    troubles = [(item.component, item.waits.startswith(waits)) for item in found.troubles]
    assert troubles == ([(component, True)] if component else [])


def test_status_other_runtime(gpu):
    node = node_of(gpu, labels={"nvidia.com/gpu.deploy.container-toolkit": None})
    pods = [pod for pod in stack() if not pod["metadata"]["name"].startswith("container-toolkit")]
    (found,) = status_of([node], pods)
    (trouble,) = found.troubles
    assert (found.state, trouble.component) == ("Waiting", "container-toolkit")
    assert trouble.waits.startswith("the label nvidia.com/gpu.deploy.container-toolkit, which")
    assert "another container runtime" in trouble.advice


def test_status_without_stack(gpu):
    """G04: the policy was deleted, and the labels of the node stayed."""
    (found,) = status_of([node_of(gpu)], deployed=[])
    assert (found.state, [item.component for item in found.troubles]) == ("Waiting", ["stack"])


def test_status_label_missing(gpu):
    node = node_of(gpu, **{"nimops.nim__gpu-missing-since": "1790000000"})
    (found,) = status_of([node], stack())
    assert (found.state, [item.component for item in found.troubles]) == ("Waiting", ["labels"])
    assert "its GPU label of Node Feature Discovery, which is gone" in found.troubles[0].waits


MIG = {"nvidia.com/mig.config": "all-1g.10gb"}
PAUSED = [f"nvidia.com/gpu.deploy.{name}" for name in ("device-plugin", "dcgm")]


@pytest.mark.parametrize(
    ("value", "expected", "waits"),
    [
        ("pending", "Waiting", "the MIG manager to apply nvidia.com/mig.config=all-1g.10gb"),
        ("failed", "Failed", "a MIG layout that can be applied"),
    ],
)
def test_status_mig(gpu, value, expected, waits):
    """G02: the paused components wait for MIG."""
    given = MIG | {"nvidia.com/mig.config.state": value}
    given |= dict.fromkeys(PAUSED, "paused-for-mig-change")
    pods = [pod for pod in stack() if not pod["metadata"]["name"].startswith(("device", "dcgm-n"))]
    pods += [pod_of("mig-manager")]
    (found,) = status_of([node_of(gpu, labels=given)], pods, [*DEPLOYED, "mig-manager"])
    (trouble,) = found.troubles
    assert (found.state, trouble.component) == (expected, "mig-manager")
    assert trouble.waits.startswith(waits)
    assert trouble.blocks == ("device-plugin", "dcgm")
    assert "change nvidia.com/mig.config, or set them to true" in trouble.advice


def test_status_mig_on_a_new_node(gpu):
    """The MIG manager waits for the driver."""
    given = MIG | {"nvidia.com/mig.config.state": "pending"}
    pods = [*stack(driver={"state": RUNNING}, **CHAIN), pod_of("mig-manager", **WAITS_FOR_TOOLKIT)]
    (found,) = status_of([node_of(gpu, labels=given)], pods, [*DEPLOYED, "mig-manager"])
    assert [item.component for item in found.troubles] == ["driver"]


def test_status_mig_before_driver(gpu):
    """A node that joined with a layout: the label of the MIG manager is not set yet."""
    given = MIG | {PAUSED[0]: "paused-for-mig-change", "nvidia.com/gpu.deploy.mig-manager": None}
    pods = [
        pod
        for pod in stack(driver={"state": RUNNING}, **CHAIN)
        if not pod["metadata"]["name"].startswith("device-plugin")
    ]
    (found,) = status_of([node_of(gpu, labels=given)], pods, [*DEPLOYED, "mig-manager"])
    assert [item.component for item in found.troubles] == ["driver"]
    assert "mig-manager" in found.troubles[0].blocks


def test_status_taint(gpu):
    node = node_of(gpu)
    node["spec"]["taints"] = [{"key": "foo", "effect": "NoSchedule"}]
    pods = [pod for pod in stack() if not pod["metadata"]["name"].startswith("driver")]
    (found,) = status_of([node], pods)
    (trouble,) = found.troubles
    assert trouble.waits == "a pod, which does not tolerate the taint foo:NoSchedule of the node"
    assert "tolerate it in daemonsets.tolerations" in trouble.advice


@pytest.mark.parametrize(
    "state", [{"init": "plugin-validation", "state": RUNNING}, {"state": RUNNING}]
)
def test_status_validation_without_plugin(gpu, state):
    """G11: the label of the node is the cause."""
    node = node_of(gpu, labels={"nvidia.com/gpu.deploy.device-plugin": "false"})
    pods = stack(operator_validator=state)
    pods = [pod for pod in pods if not pod["metadata"]["name"].startswith("device-plugin")]
    (found,) = status_of([node], pods)
    (trouble,) = found.troubles
    assert trouble.component == "operator-validator"
    assert trouble.waits.endswith("its label nvidia.com/gpu.deploy.device-plugin is false")
    assert trouble.advice.startswith("set the label to true")


def test_status_node_not_ready(gpu):
    (found,) = status_of([node_of(gpu, ready=False)], stack())
    assert (found.state, found.troubles[0].component) == ("Failed", "node")


def test_status_sorting(gpu):
    nodes = [node_of(gpu, "a"), node_of(gpu, "b"), {"metadata": {"name": "cpu"}}]
    found = status_of(nodes, [*stack("a"), *stack("b", driver={"state": CRASHED, **ENDED})])
    assert [(item.node, item.state) for item in found] == [("b", "Failed"), ("a", "Ready")]


@pytest.mark.parametrize(
    ("state", "expected"),
    [(states.DRAIN, "Upgrading"), (states.FAILED, "Failed"), (states.DONE, "Ready")],
)
def test_status_upgrade(gpu, state, expected):
    since = {labels.SINCE: f"{state} 1767225600"}
    nodes = [node_of(gpu, state=state, cordoned=state != states.DONE, **since)]
    revision = "new" if state == states.DONE else "old"
    pods = [gpu.driver("n", revision), gpu.replica("r", "n")]
    simulation = SimulatedUpgrade(nodes, pods, [gpu.revision("new", 2)])
    policy = parse_policy({"drain": {"enable": True}})
    (found,) = status_of(nodes, stack(), step=take_step(simulation.snapshot(), policy))
    assert found.state == expected
    if state != states.DONE:
        assert found.upgrade == state
        assert found.troubles[0].component == "driver upgrade"
        assert found.troubles[0].since == "2026-01-01T00:00:00+00:00"


def test_status_upgrade_pending(gpu):
    """G14: nodes that wait for their turn name the node that holds the slot."""
    names = {"a": states.FAILED, "b": states.REQUIRED, "c": states.REQUIRED}
    nodes = [node_of(gpu, name, state=state) for name, state in names.items()]
    pods = [gpu.driver(name, "old") for name in names]
    simulation = SimulatedUpgrade(nodes, pods, [gpu.revision("new", 2)])
    step = take_step(simulation.snapshot(), parse_policy({}))
    found = status_of(nodes, [pod for name in names for pod in stack(name)], step=step)
    assert [(item.node, item.state, item.upgrade) for item in found] == [
        ("a", "Failed", "upgrade-failed"),
        ("b", "Upgrading", "upgrade-required"),
        ("c", "Upgrading", "upgrade-required"),
    ]
    waits = "its turn: the maximum number of nodes is being upgraded or unavailable (a)"
    assert found[1].troubles[0].waits == waits


def test_with_logs(gpu):
    pods = stack(driver={"state": CRASHED, **ENDED})
    found = status_of([node_of(gpu)], pods)
    (log,) = logs_to_read(found, 5)
    assert log == Log("gpu", "driver-n", "main", is_previous=True)
    assert logs_to_read(found, 0) == []
    (advised,) = with_logs(found, {log: "Module nouveau is in use \x1b[31m"})
    assert advised.troubles[0].advice.startswith("the kernel module nouveau holds the GPU")
    (advised,) = with_logs(found, {})
    assert advised.troubles[0].advice == ""


def test_with_logs_event_suffices(gpu):
    pods = stack(device_plugin={"state": {"waiting": {"reason": "ContainerCreating"}}})
    warnings = {"device-plugin-n": ["FailedCreatePodSandBox: no runtime for nvidia"]}
    found = status_of([node_of(gpu)], pods, warnings=warnings)
    assert "RuntimeClass" in found[0].troubles[0].advice
    assert logs_to_read(found, 5) == []


def test_status_missing_runtime(gpu):
    """On a new node, the toolkit adds the RuntimeClass to the container runtime."""
    held = {"state": {"waiting": {"reason": "PodInitializing"}}}
    names = ("operator-validator", "device-plugin", "dcgm")
    pods = stack(
        driver={"state": RUNNING},
        container_toolkit={"init": "driver-validation", "state": RUNNING},
        **{name.replace("-", "_"): held for name in names},
    )
    warnings = {f"{name}-n": ["FailedCreatePodSandBox: no runtime for nvidia"] for name in names}
    (found,) = status_of([node_of(gpu)], pods, warnings=warnings)
    assert [(item.component, item.blocks) for item in found.troubles] == [
        ("driver", ("container-toolkit", *names))
    ]
    assert found.state == "Waiting"


NFD = {"feature.node.kubernetes.io/cpu.x": "true"}
GPU = NFD | {"nvidia.com/gpu.present": "true"}


def policy_of(state="ready", **error):
    conditions = [{"type": "Error", "status": "True", **error}] if error else []
    return {"metadata": {"name": "p"}, "status": {"state": state, "conditions": conditions}}


@pytest.mark.parametrize(
    ("policies", "labels", "expected"),
    [
        ([], {}, "there is no ClusterPolicy"),
        ([policy_of()], {}, "no node has labels of Node Feature Discovery"),
        ([policy_of()], NFD, "Node Feature Discovery found no node with a GPU"),
        ([policy_of("ignored")], GPU, "ClusterPolicy p is ignored"),
        (
            [policy_of("notReady", message="states not ready:\n[state-driver]")],
            GPU,
            "ClusterPolicy p: states not ready: [state-driver]",
        ),
        ([policy_of()], GPU, ""),
        ([policy_of("")], GPU, "ClusterPolicy p has no status: check that the operator runs"),
    ],
)
def test_find_stack_problems(policies, labels, expected):
    found = find_stack_problems(policies, [{"metadata": {"name": "n", "labels": labels}}])
    assert [item[: len(expected)] for item in found] == ([expected] if expected else [])
