# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.conditions import find_condition
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import (
    Event,
    Outcome,
    Refusal,
)
from ansible_collections.nimops.nim.plugins.module_utils._engine.reads import ReadRedacted
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import (
    GPU_CLUSTERS,
    NVIDIA_DRIVERS,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.desired import desired
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.status import assess

DONE = Outcome()
BAD_DRAIN = {"enable": True, "podSelector": "a in"}
DRIVER = {"repository": "r.example", "image": "driver", "version": "1"}
NO_GPU = {"feature.node.kubernetes.io/pci-10de.present": None}


def condition(assessment, kind):
    found = find_condition(assessment.status["conditions"], kind)
    return found and (found["status"], found["reason"], found["message"])


def daemon_set(gpu, name, available=1):
    ones = ("observedGeneration", "desiredNumberScheduled", "updatedNumberScheduled")
    status = {**dict.fromkeys(ones, 1), "numberAvailable": available}
    return gpu.live("DaemonSet", name, metadata={"generation": 1}, status=status)


@pytest.mark.parametrize(
    ("labels", "reason", "message"),
    [
        (
            {},
            "Reconciled",
            "ClusterPolicy is ready as all resources have been successfully reconciled",
        ),
        (NO_GPU, "NoGPUNodes", "No GPU node found, watching for new nodes to join the cluster."),
    ],
)
def test_assess_ready(gpu, labels, reason, message):
    found = assess(gpu.app({}, nodes=[gpu.node(labels=labels)]), DONE)
    assert (found.status["state"], found.status["namespace"]) == ("ready", "gpu-operator")
    assert condition(found, "Ready") == ("True", reason, message)
    assert condition(found, "Error") == ("False", "Ready", "")
    assert condition(found, "Reconciling") is None
    assert (found.requeue.after, found.error) == (False, "")
    assert [event.reason for event in found.events] == [reason]


def test_assess_ready_without_nfd(gpu):
    found = assess(gpu.app({}, nodes=[{"metadata": {"name": "a"}}]), DONE)
    assert condition(found, "Ready") == ("True", "NFDLabelsMissing", "No NFD labels found")
    assert (found.requeue.after, found.requeue.slow) == (True, True)


def test_assess_not_ready_reasons(gpu):
    live = [daemon_set(gpu, name, 0) for name in ("nvidia-driver-daemonset", "nvidia-dcgm")]
    live += [daemon_set(gpu, "nvidia-mig-manager")]
    found = assess(gpu.app({}, live=live), DONE)
    ready = assess(gpu.app({}), DONE).status["readyOperands"]
    total = int(ready.partition("/")[2])
    assert (ready, found.status["readyOperands"]) == (f"{total}/{total}", f"{total - 2}/{total}")
    assert total > 2
    assert found.status["state"] == "notReady"
    assert condition(found, "Ready") == ("False", "Error", "")
    assert condition(found, "Error") == (
        "True",
        "OperandNotReady",
        "ClusterPolicy is not ready; states not ready: [state-driver state-dcgm]",
    )
    assert condition(found, "Reconciling") == (
        "True",
        "OperandNotReady",
        "state-driver: DaemonSet nvidia-driver-daemonset: 0 of 1 pods are available;"
        " state-dcgm: DaemonSet nvidia-dcgm: 0 of 1 pods are available",
    )
    assert (found.requeue.after, found.error, found.events) == (True, "", [])


WRITTEN = Outcome(written={"DaemonSet/gpu-operator/nvidia-dcgm": {"metadata": {}}})
UPGRADES = {"driver": {"upgradePolicy": {"autoUpgrade": True}}}
STATE = "nvidia.com/gpu-driver-upgrade-state"
CORDON = {STATE: "cordon-required", "nvidia.com/gpu.present": "true"}
EVENTS = {"child_events": True}


@pytest.mark.parametrize(
    ("case", "outcome", "is_slow"),
    [
        pytest.param(EVENTS, DONE, True, id="watch event at the end"),
        pytest.param({}, DONE, False, id="no watch event"),
        pytest.param(EVENTS, WRITTEN, False, id="not watched yet"),
        pytest.param({**EVENTS, "owner": "gone"}, DONE, False, id="object of a deleted policy"),
        pytest.param({**EVENTS, "spec": UPGRADES, "labels": CORDON}, DONE, False, id="upgrade"),
    ],
)
def test_assess_requeue_slow(gpu, case, outcome, is_slow):
    case = dict(case)
    live = [daemon_set(gpu, "nvidia-driver-daemonset", 0)]
    live += [gpu.live("Role", "nvidia-dcgm", owner=case.pop("owner", "cluster-policy"))]
    nodes = [gpu.node(labels=case.pop("labels", {}))]
    found = assess(gpu.app(case.pop("spec", {}), nodes=nodes, live=live, **case), outcome)
    assert found.status["state"] == "notReady"
    assert (found.requeue.after, found.requeue.slow) == (True, is_slow)


@pytest.mark.parametrize(("spec", "nodes"), [({"dcgm": {"enabled": False}}, None), ({}, [])])
def test_assess_ignores_disabled_operands(gpu, spec, nodes):
    app = gpu.app(spec, live=[daemon_set(gpu, "nvidia-dcgm", 0)], nodes=nodes)
    assert assess(app, DONE).status["state"] == "ready"


@pytest.mark.parametrize("nodes", [None, []])
def test_assess_leaving_objects(gpu, nodes):
    live = [gpu.live("Role", "nvidia-dcgm", owner="gone"), gpu.live("Role", "nvidia-driver")]
    found = assess(gpu.app({}, live=live, nodes=nodes), DONE)
    assert condition(found, "Error")[2].endswith("[state-dcgm]")
    assert condition(found, "Reconciling")[2] == (
        "state-dcgm: Role nvidia-dcgm belongs to a deleted ClusterPolicy and is being removed"
    )
    assert found.requeue.after


def test_assess_upgrade(gpu):
    nodes = [gpu.node(f"gpu-{number}", CORDON) for number in range(7)]
    found = assess(gpu.app(UPGRADES, nodes=nodes), DONE)
    assert found.status["state"] == "ready"
    assert condition(found, "Reconciling")[1:] == (
        "DriverUpgrade",
        "checking the driver of each node",
    )
    assert found.requeue.after


def test_assess_upgrade_under_way(gpu):
    """The driver pods are ready, but a node is still validated."""
    labels = {STATE: "validation-required", "nvidia.com/gpu.deploy.driver": "true"}
    nodes = [gpu.node(labels=labels | {"nvidia.com/gpu.present": "true"})]
    live = [daemon_set(gpu, "nvidia-driver-daemonset")]
    found = assess(gpu.app(UPGRADES, nodes=nodes, live=live), DONE)
    assert condition(found, "Error")[2].endswith("states not ready: [state-driver]")
    assert condition(found, "Reconciling")[1:] == (
        "OperandNotReady",
        "driver upgrades: 1 in progress, 0 pending; node gpu-0 waits for a pod of the DaemonSet"
        " nvidia-operator-validator",
    )


def driver_nodes(gpu, state):
    return [gpu.node(labels={"nvidia.com/gpu-operator.driver.owner": "a", STATE: state})]


@pytest.mark.parametrize("is_unready", [False, True])
def test_assess_nvidia_driver_upgrade(gpu, is_unready):
    live = [daemon_set(gpu, "nvidia-dcgm", 0)] if is_unready else []
    spec, nodes = {"driver": {"useNvidiaDriverCRD": True}}, driver_nodes(gpu, "drain-required")
    found = assess(gpu.app(spec, live=live, nodes=nodes), DONE)
    assert found.status["state"] == "notReady"
    status, reason, message = condition(found, "Error")
    assert (status, reason) == ("True", "OperandNotReady")
    states = "states not ready: [state-dcgm]; " if is_unready else ""
    assert message == (
        f"ClusterPolicy is not ready; {states}NVIDIADriver upgrade has not completed;"
        " one or more NVIDIADriver-owned Nodes are marked pending, in-progress, or failed"
    )
    assert found.requeue.after is is_unready
    done = driver_nodes(gpu, "upgrade-done")
    assert assess(gpu.app(spec, nodes=done), DONE).status["state"] == "ready"


DEPLOY, MIG = "nvidia.com/gpu.deploy.", "nvidia.com/mig.config"
PAUSED = {f"{DEPLOY}{name}": "paused-for-mig-change" for name in ("device-plugin", "dcgm")}
PENDING, FAILED = ({MIG: "all-1g.10gb", f"{MIG}.state": state} for state in ("pending", "failed"))


@pytest.mark.parametrize(
    ("labels", "operands", "texts"),
    [
        (
            PENDING,
            "state-device-plugin state-mig-manager",
            ["the MIG manager to apply nvidia.com/mig.config=all-1g"],
        ),
        (FAILED, "state-mig-manager", ["nvidia.com/mig.config.state is failed"]),
        (
            PENDING | PAUSED,
            "state-device-plugin state-dcgm state-mig-manager",
            [f"{DEPLOY}device-plugin", f"{DEPLOY}dcgm", f"{MIG}.state is pending"],
        ),
        (
            {f"{DEPLOY}driver": "paused-for-driver-upgrade"},
            "state-driver",
            [f"{DEPLOY}driver, which is paused-for-driver-upgrade", "set it to true"],
        ),
    ],
)
def test_assess_problems_of_nodes(gpu, labels, operands, texts):
    """G02: a DaemonSet without desired pods is ready for Kubernetes, but not on the paused node."""
    sets = ("nvidia-device-plugin-daemonset", "nvidia-dcgm", "nvidia-driver-daemonset")
    paused = [name for name in sets if any(key.rpartition(".")[2] in name for key in labels)]
    live = [gpu.live("DaemonSet", name, status={"observedGeneration": 1}) for name in paused]
    app = gpu.app({}, nodes=[gpu.node("gpu-1", labels)], live=live)
    found = assess(app, DONE)
    states = f"ClusterPolicy is not ready; states not ready: [{operands}]"
    assert condition(found, "Error") == ("True", "OperandNotReady", states)
    message = condition(found, "Reconciling")[2]
    (event,) = found.events
    assert (event.kind, event.reason) == ("Warning", "OperandNotReady")
    for text in ("node gpu-1 waits for ", *texts):
        assert text in message
        assert text in event.message
    app.resource["status"] = found.status
    assert assess(app, DONE).events == [], "one event per problem"


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ({}, {f"{DEPLOY}dcgm": "false"}),
        ({}, {f"{DEPLOY}driver": "pre-installed"}),
        ({"migManager": {"enabled": False}}, FAILED),
        ({"dcgm": {"enabled": False}, "devicePlugin": {"enabled": False}}, PAUSED),
    ],
)
def test_assess_ready_where_users_switch_off(gpu, spec, labels):
    assert assess(gpu.app(spec, nodes=[gpu.node(labels=labels)]), DONE).status["state"] == "ready"


TAINTS = [{"key": "foo", "effect": "NoSchedule"}]


def spread(gpu, wanted, kept=0):
    selector = {f"{DEPLOY}dcgm": "true"}
    counts = ("desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable")
    status = {"observedGeneration": 1, "numberMisscheduled": kept, **dict.fromkeys(counts, wanted)}
    spec = {"template": {"spec": {"nodeSelector": selector}}}
    return gpu.live("DaemonSet", "nvidia-dcgm", spec=spec, status=status)


def outlines(nodes, taints):
    key = ReadRedacted("Node", selector="nvidia.com/gpu.present=true").key
    return {key: [{**node, "spec": {"taints": taints}} for node in nodes]}


@pytest.mark.parametrize(
    ("wanted", "kept", "expected"),
    [(2, 0, ""), (1, 0, "1 of 2"), (1, 1, ""), (0, 0, "0 of 2"), (0, 2, "0 of 2")],
)
def test_assess_taints(gpu, wanted, kept, expected):
    """G08: no node tolerates it, so its controller creates no pod."""
    nodes = [gpu.node("gpu-0"), gpu.node("gpu-1")]
    app = gpu.app(
        {}, nodes=nodes, live=[spread(gpu, wanted, kept)], answers=outlines(nodes, TAINTS)
    )
    found = assess(app, DONE)
    if not expected:
        assert found.status["state"] == "ready"
        return
    assert condition(found, "Error")[2].endswith("states not ready: [state-dcgm]")
    assert condition(found, "Reconciling")[2].startswith(
        f"state-dcgm: DaemonSet nvidia-dcgm: {expected} nodes can get a pod; node gpu-0 waits for"
        " a pod, which does not tolerate the taint foo:NoSchedule of the node: "
    )
    assert [event.message.split()[1] for event in found.events] == ["gpu-0", "gpu-1"]


def test_assess_taints_unknown(gpu):
    found = assess(gpu.app({}, live=[spread(gpu, 0)]), DONE)
    assert condition(found, "Reconciling")[2].endswith("nvidia-dcgm: 0 of 1 nodes can get a pod")
    assert found.events == []


def test_assess_nodes_not_ready(gpu):
    node = gpu.node()
    node["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    found = assess(gpu.app({}, nodes=[node], live=[spread(gpu, 0)]), DONE)
    assert "node gpu-0 waits for its kubelet" in condition(found, "Reconciling")[2]


def test_assess_validation_without_plugin(gpu):
    """G11: the label of the node is the cause."""
    nodes = [gpu.node("gpu-0"), gpu.node("gpu-1", {f"{DEPLOY}device-plugin": "false"})]
    live = [daemon_set(gpu, "nvidia-operator-validator", 0)]
    found = assess(gpu.app({}, nodes=nodes, live=live), DONE)
    text = "node gpu-1 waits for the node to offer GPUs, but its label nvidia.com/gpu.deploy.device"
    assert text in condition(found, "Reconciling")[2]
    read = ReadRedacted(
        "Pod", "gpu-operator", "app=nvidia-operator-validator", "spec.nodeName=gpu-1"
    )
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    pods = {read.key: [{"metadata": {"name": "v"}, "status": ready}]}
    found = assess(gpu.app({}, nodes=nodes, live=live, answers=pods), DONE)
    assert "gpu-1" not in condition(found, "Reconciling")[2]


def test_assess_triggers_drivers(gpu):
    drivers = [{"metadata": {"name": name}} for name in "ab"]
    app = gpu.app({}, answers={NVIDIA_DRIVERS.key: drivers})
    app.resource["metadata"]["generation"] = 3
    found = assess(app, DONE).triggers
    assert [(item.kind, item.name, item.value) for item in found] == [
        ("NVIDIADriver", "a", "cluster-policy 3"),
        ("NVIDIADriver", "b", "cluster-policy 3"),
    ]
    drivers[0]["metadata"]["annotations"] = {found[0].key: found[0].value}
    assert [item.name for item in assess(app, DONE).triggers] == ["b"]
    assert assess(gpu.app({}), DONE).triggers == []


def test_assess_just_written(gpu):
    written = daemon_set(gpu, "nvidia-dcgm")
    written["metadata"]["generation"] = 2
    outcome = Outcome(written={"DaemonSet/gpu-operator/nvidia-dcgm": written})
    found = assess(gpu.app({}, live=[daemon_set(gpu, "nvidia-dcgm")]), outcome)
    assert condition(found, "Error")[2].endswith("[state-dcgm]")


def test_assess_error_retried(gpu):
    failure = "Failed to reconcile state-driver: no"
    found = assess(gpu.app({}), Outcome(failure=failure))
    assert found.status["state"] == "notReady"
    assert condition(found, "Error") == ("True", "ReconcileFailed", failure)
    assert condition(found, "Ready") == ("False", "Error", "")
    assert found.error == failure
    assert [event.reason for event in found.events] == ["ReconcileFailed"]


@pytest.mark.parametrize(
    "spec",
    [
        {"driver": {"repository": "r", "image": "driver"}},
        {"driver": {"usePrecompiled": True}},
        {"driver": {"usePrecompiled": True, **DRIVER}, "gds": {"enabled": True}},
        {"driver": {"usePrecompiled": True, **DRIVER, "version": "sha256:0"}},
        {"driver": {"upgradePolicy": {"autoUpgrade": True, "maxUnavailable": "many"}}},
        {"driver": {"upgradePolicy": {"autoUpgrade": True, "drain": BAD_DRAIN}}},
        {"cdi": {"enabled": False, "nriPluginEnabled": True}},
        {"daemonsets": {"rollingUpdate": {"maxUnavailable": "many"}}},
        {"migManager": {"config": {"default": "a b"}}},
    ],
)
def test_assess_invalid_spec(gpu, spec):
    """Only another spec helps, so no pass repeats it."""
    app = gpu.app(spec)
    failure = desired(app).failure
    found = assess(app, Outcome(failure=str(failure), failure_reason=failure.reason))
    assert condition(found, "Error") == ("True", "ReconcileFailed", str(failure))
    assert condition(found, "Stalled") == condition(found, "Error")
    assert (found.error, found.requeue.slow) == ("", True)


@pytest.mark.parametrize(
    ("driver", "labels"),
    [
        ({"kernelModuleConfig": {"name": "params"}}, {}),
        ({}, {"feature.node.kubernetes.io/system-os_release.ID": None}),
    ],
)
def test_assess_cluster_lacks_something(gpu, driver, labels):
    """N3: the cluster can change without the spec."""
    app = gpu.app({"driver": driver}, nodes=[gpu.node(labels=labels)])
    failure = desired(app).failure
    found = assess(app, Outcome(failure=str(failure), failure_reason=failure.reason))
    assert condition(found, "Reconciling") == ("True", "Retrying", str(failure))
    assert not driver or "in namespace gpu-operator" in str(failure)


def test_assess_error_event_once(gpu):
    app = gpu.app({})
    first = assess(app, Outcome(failure="no"))
    app.resource["status"] = first.status
    assert assess(app, Outcome(failure="no")).events == []


def test_assess_refusal_names_operand(gpu):
    refusals = [Refusal("Service", "nvidia-dcgm", "invalid"), Refusal("Node", "a", "forbidden")]
    found = assess(gpu.app({}), Outcome(refusals=refusals))
    assert found.error == "Failed to reconcile state-dcgm: invalid"
    found = assess(gpu.app({}), Outcome(refusals=refusals[1:]))
    assert found.error == "forbidden"


def test_assess_not_served(gpu):
    app = gpu.app({"sandboxWorkloads": {"enabled": True}})
    found = assess(app, Outcome(failure="sandboxWorkloads.enabled: …"))
    assert condition(found, "Error")[1] == condition(found, "Stalled")[1] == "NotServed"
    assert (found.error, found.requeue.slow, found.status["state"]) == ("", True, "notReady")


def test_assess_gpu_cluster(gpu):
    app = gpu.app({}, answers={GPU_CLUSTERS.key: [{"metadata": {"name": "x"}}]})
    found = assess(app, Outcome(failure="conflicting GPUCluster …"))
    assert condition(found, "Error")[1] == "ReconcileFailed"
    assert (found.error, found.requeue.after) == ("", True)


def test_assess_other_policy_active(gpu):
    older = gpu.policy(name="b", created="2020-01-01T00:00:00Z")
    app = gpu.app({}, policies=[gpu.policy(), older])
    app.resource["status"] = {"readyOperands": "11/11"}
    found = assess(app, DONE)
    assert "readyOperands" not in found.status
    assert found.status["state"] == "ignored"
    assert condition(found, "Ready")[:2] == ("False", "Ignored")
    assert "the older ClusterPolicy b is active" in condition(found, "Ready")[2]
    assert condition(found, "Error")[0] == "False"
    assert (found.requeue.after, found.error) == (True, ""), "no event reports when the other goes"
    assert [event.reason for event in found.events] == ["Ignored"]


def test_assess_replaces_conditions(gpu):
    app = gpu.app({})
    app.resource["status"] = assess(app, Outcome(failure="no")).status
    found = assess(app, DONE)
    kinds = [item["type"] for item in found.status["conditions"]]
    assert sorted(kinds) == ["Error", "Ready"]


SPARED = (
    "the container toolkit is deployed for containerd, and these nodes use another container"
    " runtime: gpu-1 (crio); install the toolkit on them yourself, and set their label"
    " nvidia.com/gpu.deploy.container-toolkit to false"
)


@pytest.mark.parametrize("is_unready", [False, True])
def test_assess_other_runtime(gpu, is_unready):
    nodes = [gpu.node(), gpu.node("gpu-1", runtime="cri-o://1.34.0")]
    live = [daemon_set(gpu, "nvidia-dcgm", 0)] if is_unready else []
    app = gpu.app({}, nodes=nodes, live=live)
    found = assess(app, DONE)
    assert found.status["state"] == "notReady"
    waiting = "state-container-toolkit" + (" state-dcgm" if is_unready else "")
    assert condition(found, "Error") == (
        "True",
        "OperandNotReady",
        f"ClusterPolicy is not ready; states not ready: [{waiting}]; {SPARED}",
    )
    if is_unready:
        assert condition(found, "Reconciling")[2].startswith(f"state-container-toolkit: {SPARED};")
        assert condition(found, "Stalled") is None
    else:
        assert condition(found, "Stalled") == ("True", "MixedRuntimes", SPARED)
        assert condition(found, "Reconciling") is None
    assert (found.requeue.after, found.requeue.slow) == (True, not is_unready)
    assert found.events == [Event("Warning", "MixedRuntimes", SPARED)]
    app.resource["status"] = found.status
    assert assess(app, DONE).events == []


def test_assess_settings_without_effect(gpu):
    env = [{"name": name, "value": "1"} for name in ("COMMON", "WITH_WORKLOAD")]
    app = gpu.app({"validator": {"env": env}, "toolkit": {"args": ["--quiet"]}})
    app.resource["metadata"]["generation"] = 2
    assert [item.message for item in assess(app, DONE).events if item.reason == "Ignored"] == [
        "toolkit.args has no effect: set variables in toolkit.env",
        "validator.env: ignored variables: COMMON. Set variables in the env of validator.driver,"
        " validator.toolkit, validator.cuda or validator.plugin",
    ]
    ready = {"type": "Ready", "status": "True", "observedGeneration": 2}
    app.resource["status"] = {"state": "ready", "conditions": [ready]}
    assert assess(app, DONE).events == []
