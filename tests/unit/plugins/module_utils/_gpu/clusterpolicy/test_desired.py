# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import GPU_CLUSTERS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.desired import (
    desired,
    finalize,
    is_deployed,
    is_leaving,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.order import OPERANDS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.driver.pod import DAEMON_SETS

NRI = {"cdi": {"nriPluginEnabled": True}}


def names(wanted):
    return {(item.manifest["kind"], item.manifest["metadata"]["name"]) for item in wanted.children}


def test_desired_all_operands(gpu):
    wanted = desired(gpu.app({}))
    assert wanted.failure is None
    assert wanted.namespace == "gpu-operator"
    kinds = [item.manifest["metadata"]["name"] for item in wanted.children]
    assert kinds.index("nvidia-driver-daemonset") < kinds.index("nvidia-dcgm-exporter")
    assert ("DaemonSet", "nvidia-node-status-exporter") in wanted.unwanted
    assert not names(wanted) & set(wanted.unwanted)


def test_desired_accounts_create_only(gpu):
    for item in desired(gpu.app({})).children:
        assert item.create_only is (item.manifest["kind"] == "ServiceAccount")


def test_desired_disabled_operand(gpu):
    wanted = desired(gpu.app({"dcgm": {"enabled": False}}))
    gone = {name for name in wanted.unwanted if name[1] == "nvidia-dcgm"}
    kinds = {"ServiceAccount", "Role", "RoleBinding", "Service", "DaemonSet"}
    assert {kind for kind, _name in gone} == kinds


def test_desired_without_gpu(gpu):
    wanted = desired(gpu.app({"dcgm": {"enabled": False}}, nodes=[]))
    gone = {name for kind, name in wanted.unwanted if kind == "DaemonSet"}
    assert gone == {"nvidia-dcgm", "nvidia-node-status-exporter"}
    assert not any(kind == "DaemonSet" for kind, _name in names(wanted))


def test_desired_error_stops(gpu):
    wanted = desired(gpu.app({"toolkit": {"repository": "r", "image": "t"}}))
    why = "Failed to reconcile state-container-toolkit: invalid image"
    assert str(wanted.failure).startswith(why)
    assert ("DaemonSet", "nvidia-driver-daemonset") in names(wanted)
    assert ("Role", "nvidia-container-toolkit") in names(wanted)
    assert ("DaemonSet", "nvidia-device-plugin-daemonset") not in names(wanted)
    assert not [name for name in wanted.unwanted if "toolkit" in name[1] or "plugin" in name[1]]
    assert wanted.patches, "nodes are labeled regardless"


@pytest.mark.parametrize("value", ["all disabled", "-a", "a.", "ä", "x" * 64, "a\n"])
def test_desired_invalid_mig_default(gpu, value):
    """The operator refuses it, not the API server for each node; other CRDs may accept it."""
    node = gpu.node(labels={"nvidia.com/mig.capable": "true"})
    spec = {"migManager": {"config": {"default": value}}}
    wanted = desired(gpu.app(spec, nodes=[node]))
    assert str(wanted.failure) == (
        "Failed to reconcile state-mig-manager: migManager.config.default:"
        f' "{value.strip()}" cannot be the label nvidia.com/mig.config of a node: a value has at most'
        " 63 letters, digits, -, _ and ., and begins and ends with a letter or a digit"
    )
    assert not [patch for patch in wanted.patches if "mig.config" in str(merge_patch_of(patch))]
    spec["migManager"]["enabled"] = False
    assert desired(gpu.app(spec, nodes=[node])).failure is None


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"cdi": {"enabled": False, "nriPluginEnabled": True}}, "CDI"),
        ({**NRI, "toolkit": {"enabled": False}}, "the Container Toolkit"),
    ],
)
def test_desired_conflicting_fields(gpu, spec, what):
    wanted = desired(gpu.app(spec))
    assert str(wanted.failure) == (
        f"error validating clusterpolicy: the NRI Plugin cannot be enabled when {what} is disabled"
    )
    assert (wanted.children, wanted.unwanted) == ([], [])


def test_desired_inactive_policy(gpu):
    older = gpu.policy(name="b", created="2020-01-01T00:00:00Z")
    wanted = desired(gpu.app({}, policies=[gpu.policy(), older]))
    assert (wanted.children, wanted.unwanted, wanted.patches, wanted.failure) == ([], [], [], None)


@pytest.mark.parametrize(
    ("spec", "answers"),
    [
        ({"sandboxWorkloads": {"enabled": True}}, {}),
        ({}, {GPU_CLUSTERS.key: [{"metadata": {"name": "x"}}]}),
    ],
)
def test_desired_obstacle(gpu, spec, answers):
    wanted = desired(gpu.app(spec, answers=answers))
    assert (wanted.children, wanted.unwanted, wanted.patches) == ([], [], [])
    assert wanted.failure is not None


def test_desired_leaving_objects(gpu):
    live = gpu.live("Role", "nvidia-driver", owner="gone")
    other = gpu.live("Role", "nvidia-dcgm", owner="b")
    policies = [gpu.policy(), gpu.policy(name="b", created="2027-01-01T00:00:00Z")]
    wanted = names(desired(gpu.app({}, live=[live, other], policies=policies)))
    assert ("Role", "nvidia-driver") not in wanted
    assert ("Role", "nvidia-dcgm") in wanted, "is refused: its policy is there"


def test_desired_pod_security_labels(gpu):
    namespace = {"kind": "Namespace", "metadata": {"name": "gpu-operator", "labels": {"a": "b"}}}
    app = gpu.app({"psa": {"enabled": True}}, nodes=[], live=[namespace])
    (patch,) = desired(app).patches
    assert merge_patch_of(patch)["metadata"]["labels"] == {
        f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")
    }
    assert desired(gpu.app({}, nodes=[], live=[namespace])).patches == []


DRIVERS = {"driver": {"useNvidiaDriverCRD": True}}


@pytest.mark.parametrize("spec", [{}, {"enabled": False}])
def test_desired_handover_to_drivers(gpu, spec):
    own = [f"nvidia-driver-daemonset{suffix}" for suffix in ("", "-6.8.0-ubuntu24.04")]
    found = [gpu.live("DaemonSet", name) for name in own]
    found.append(gpu.live("DaemonSet", "nvidia-gpu-driver-x", owner="other"))
    listed = {DAEMON_SETS.key: found}
    app = gpu.app({"driver": {**DRIVERS["driver"], **spec}}, live=found, answers=listed)
    wanted = desired(app)
    assert sorted(wanted.orphaned) == [("DaemonSet", name) for name in own]
    children = [name for name in names(wanted) if "driver" in name[1]]
    assert children == [("ConfigMap", "nvidia-driver-startup-probe")]
    assert not [name for name in wanted.unwanted if "driver" in name[1]]
    (driver,) = [operand for operand in OPERANDS if operand.name == "state-driver"]
    assert not is_deployed(app, driver)
    assert desired(gpu.app({}, answers=listed)).orphaned == []


@pytest.mark.parametrize(("kind", "is_left"), [("NVIDIADriver", True), ("ClusterPolicy", False)])
def test_desired_reference_probe(gpu, kind, is_left):
    live = gpu.live("ConfigMap", "nvidia-driver-startup-probe")
    live["metadata"]["ownerReferences"][0]["kind"] = kind
    wanted = desired(gpu.app(DRIVERS, live=[live]))
    (child,) = [item for item in wanted.children if item.manifest["kind"] == "ConfigMap"][:1]
    assert child.manifest["metadata"]["name"] == "nvidia-driver-startup-probe"
    assert child.create_only is is_left


def test_desired_invalid_upgrade_policy(gpu):
    spec = {"driver": {"upgradePolicy": {"autoUpgrade": True, "maxUnavailable": "many"}}}
    wanted = desired(gpu.app(spec))
    assert "driver.upgradePolicy.maxUnavailable" in str(wanted.failure)
    assert ("DaemonSet", "nvidia-dcgm") in names(wanted)
    assert wanted.evictions == []


STATE, ENABLED = "nvidia.com/gpu-driver-upgrade-state", "nvidia.com/gpu-driver-upgrade-enabled"
DEPLOY, PRESENT = "nvidia.com/gpu.deploy.", "nvidia.com/gpu.present"
PSA = "pod-security.kubernetes.io/enforce"


def finalized(app):
    """The changes when the policy is deleted, by kind and name."""
    wanted = finalize(app)
    assert (wanted.children, wanted.failure) == ([], None)
    found = {}
    for patch in wanted.patches:
        if body := merge_patch_of(patch):
            place = found.setdefault(f"{patch.kind}/{body['metadata']['name']}", {})
            place |= body["metadata"].get("labels", {}) | body["metadata"].get("annotations", {})
            place |= body.get("spec", {})
    return found


def test_finalize_nodes(gpu):
    """G04: deleted in the middle of an upgrade."""
    users = {f"{DEPLOY}dcgm": "false", "nvidia.com/mig.config": "all-disabled"}
    ours = {PRESENT: "true", f"{DEPLOY}driver": "true", STATE: "drain-required"}
    marks = {ENABLED: "true", "nimops.nim/driver-upgrade-since": "drain-required 1"}
    node = gpu.node(labels=users | ours, annotations=marks)
    node["spec"]["unschedulable"] = True
    bare = gpu.node("b", {"feature.node.kubernetes.io/pci-10de.present": None})
    owned = gpu.node("c", {"nvidia.com/gpu-operator.driver.owner": "a", STATE: "upgrade-done"})
    assert finalized(gpu.app(nodes=[node, bare, owned])) == {
        "Node/gpu-0": dict.fromkeys([*ours, *marks, "unschedulable"]),
        "Node/c": {STATE: None},
    }


def test_finalize_cordoned_by_others(gpu):
    was = "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable"
    for labels, marks in (
        ({STATE: "drain-required"}, {was: "true"}),
        ({STATE: "upgrade-done"}, {}),
    ):
        node = gpu.node(labels=labels, annotations=marks)
        node["spec"]["unschedulable"] = True
        assert finalized(gpu.app(nodes=[node])) == {"Node/gpu-0": dict.fromkeys([STATE, *marks])}


def test_finalize_namespace(gpu):
    def namespace(manager):
        fields = {"f:metadata": {"f:labels": {f"f:{PSA}": {}}}}
        entry = {"manager": manager, "operation": "Update", "fieldsV1": fields}
        metadata = {"name": "gpu-operator", "labels": {PSA: "privileged"}, "managedFields": [entry]}
        return {"kind": "Namespace", "metadata": metadata}

    spec = {"psa": {"enabled": True}}
    ours = gpu.app(spec, nodes=[], live=[namespace("nimops.nim")])
    assert finalized(ours) == {"Namespace/gpu-operator": {PSA: None}}
    assert finalized(gpu.app(spec, nodes=[], live=[namespace("kubectl")])) == {}


def test_finalize_other_policy(gpu):
    """The next policy continues with the nodes; so does a GPUCluster."""
    node = gpu.node(labels={PRESENT: "true", STATE: "drain-required"})
    leaving = gpu.policy()
    leaving["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    both = [leaving, gpu.policy(name="b", created="2026-01-02T00:00:00Z")]
    assert finalized(gpu.app(nodes=[node], policies=both)) == {}
    assert finalized(gpu.app(nodes=[node], policies=[leaving])) != {}
    rival = {GPU_CLUSTERS.key: [{"metadata": {"name": "x"}}]}
    assert finalized(gpu.app(nodes=[node], answers=rival)) == {}


def test_is_leaving_policy_with_finalizer(gpu):
    """Its objects go as soon as it is finalized: they are not taken by another owner."""
    live = gpu.live("DaemonSet", "nvidia-dcgm", owner="old")
    old = gpu.policy(name="old")
    assert not is_leaving(gpu.app(policies=[gpu.policy(), old]), live)
    old["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    assert is_leaving(gpu.app(policies=[gpu.policy(), old]), live)
