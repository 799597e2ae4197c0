# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.cluster import CLUSTER_VERSIONS
from ansible_collections.nimops.nim.plugins.module_utils._gpu.fields import INVALID
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.desired import (
    desired,
    finalize,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.pools import (
    OS_LABEL,
    account_name,
    daemon_set_name,
)

ACCOUNT = "nvidia-gpu-driver-a-ubuntu24.04"
STATE = "nvidia.com/gpu-driver-upgrade-state"
ENABLED = "nvidia.com/gpu-driver-upgrade-enabled"


def names(wanted):
    return [(item.manifest["kind"], item.manifest["metadata"]["name"]) for item in wanted.children]


def labels_set(wanted):
    found = [merge_patch_of(patch)["metadata"] for patch in wanted.patches]
    own = [item for item in found if OWNER in item.get("labels", {})]
    return {item["name"]: item["labels"][OWNER] for item in own}


def test_desired_children(nvd):
    app = nvd.app()
    wanted = desired(app)
    assert wanted.failure is None
    assert names(wanted) == [
        *((kind, ACCOUNT) for kind in ("ServiceAccount", "Role", "RoleBinding")),
        *((kind, ACCOUNT) for kind in ("ClusterRole", "ClusterRoleBinding")),
        ("DaemonSet", daemon_set_name(app, "ubuntu24.04")),
    ]
    assert wanted.children[0].create_only
    assert wanted.namespace == nvd.namespace
    assert (wanted.unwanted, wanted.orphaned) == ([], [])


def test_desired_two_systems(nvd):
    version = {f"{nvd.nfd}system-os_release.VERSION_ID": "22.04"}
    wanted = desired(nvd.app(nodes=[nvd.node("a"), nvd.node("b", labels=version)]))
    assert len([name for name in names(wanted) if name[0] == "DaemonSet"]) == 2


def test_desired_labels_then_driver(nvd):
    wanted = desired(nvd.app(nodes=[nvd.node(owner=None)]))
    assert (names(wanted), labels_set(wanted)) == ([], {"gpu-0": "a"})


INVALID_IMAGE = {"repository": "", "image": "driver", "version": "1.2.3"}


@pytest.mark.parametrize(
    ("owner", "stays"), [("b", "keeps the driver of NVIDIADriver b"), (None, "gets no driver")]
)
def test_desired_takes_no_node_without_driver(nvd, owner, stays):
    """N1: a driver that cannot be deployed takes no node from one that runs."""
    others = [nvd.driver("b", {"default": True})]
    nodes = [nvd.node("n1", owner)]
    wanted = desired(nvd.app(INVALID_IMAGE, nodes=nodes, others=others))
    assert labels_set(wanted) == {}
    assert str(wanted.failure).startswith(f"node n1 {stays}: ")
    wanted = desired(nvd.app(nodes=nodes, others=others))
    assert (labels_set(wanted), wanted.failure) == ({"n1": "a"}, None)


def test_desired_invalid_image_without_nodes(nvd):
    """N2: only another spec helps, with or without nodes."""
    wanted = desired(nvd.app(INVALID_IMAGE, nodes=[]))
    assert str(wanted.failure).startswith("set spec.repository: invalid image specification: ")
    assert wanted.children == []


@pytest.mark.parametrize("nodes", [[], ["a"], [None]])
@pytest.mark.parametrize("version", ["", "535.161.08"])
def test_desired_default_image(nvd, nodes, version):
    """N2: the CRD sets an image that the user never wrote."""
    spec = {"repository": "", "image": "nvcr.io/nvidia/driver", "version": version}
    app = nvd.app(spec, nodes=[nvd.node(owner=owner) for owner in nodes])
    failure = desired(app).failure
    assert "nvcr.io" not in str(failure)
    assert "set spec.repository" in str(failure)
    assert failure.reason == INVALID


def test_desired_leaves_node_until_taken(nvd):
    others = [nvd.driver("b", {"nodeSelector": {"p": "b"}})]
    app = nvd.app({"default": True}, nodes=[nvd.node("n1", "a", {"p": "b"})], others=others)
    assert labels_set(desired(app)) == {}


def test_desired_conflict(nvd):
    others = [nvd.driver("b")]
    wanted = desired(nvd.app(others=others))
    assert wanted.failure.reason == "ConflictingNodeSelector"
    assert (wanted.children, wanted.unwanted, wanted.patches) == ([], [], [])


def test_desired_conflict_of_others(nvd):
    others = [nvd.driver(name, {"nodeSelector": {"p": "b"}}) for name in "bc"]
    nodes = [nvd.node("mine"), nvd.node("theirs", None, {"p": "b"})]
    wanted = desired(nvd.app({"default": True}, nodes=nodes, others=others))
    assert (wanted.failure, labels_set(wanted)) == (None, {})
    assert ("DaemonSet", daemon_set_name(nvd.app(), "ubuntu24.04")) in names(wanted)
    nodes.append(nvd.node("new", None))
    wanted = desired(nvd.app({"default": True}, nodes=nodes, others=others))
    assert (wanted.failure, labels_set(wanted)) == (None, {"new": "a"})


@pytest.mark.parametrize(
    "policy",
    [False, {"sandboxWorkloads": {"enabled": True}, "driver": {"useNvidiaDriverCRD": True}}],
)
def test_desired_not_served(nvd, policy):
    live = [nvd.live("DaemonSet", "x", metadata={"labels": {OS_LABEL: "ubuntu24.04"}})]
    wanted = desired(nvd.app(policy=policy, live=live))
    assert wanted.failure
    assert (wanted.children, wanted.unwanted, wanted.orphaned, wanted.patches) == ([], [], [], [])


def test_desired_hand_back(nvd):
    live = [nvd.live("DaemonSet", "x"), nvd.live("DaemonSet", "y", owner="b")]
    nodes = [nvd.node("n1"), nvd.node("n2", "b")]
    wanted = desired(nvd.app(policy={}, live=live, nodes=nodes))
    assert wanted.orphaned == [("DaemonSet", "x")]
    assert labels_set(wanted) == {"n1": None}
    assert (wanted.children, wanted.unwanted, wanted.failure) == ([], [], None)


def test_desired_hand_back_other_operator(nvd):
    answers = {CLUSTER_VERSIONS.key: {"metadata": {}}}
    wanted = desired(nvd.app(policy={}, live=[nvd.live("DaemonSet", "x")], answers=answers))
    assert (wanted.orphaned, wanted.patches, wanted.failure) == ([], [], None)


@pytest.mark.parametrize(
    ("status", "is_kept"),
    [({}, False), ({"desiredNumberScheduled": 1}, True), ({"numberMisscheduled": 1}, True)],
)
def test_desired_pool_without_nodes(nvd, status, is_kept):
    app = nvd.app()
    labels = {OS_LABEL: "ubuntu22.04"}
    old = nvd.live("DaemonSet", "old", metadata={"labels": labels}, status=status)
    wanted = desired(nvd.app(live=[old]))
    account = account_name(app, "ubuntu22.04")
    kinds = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
    expected = [("DaemonSet", "old"), *((kind, account) for kind in kinds)]
    assert wanted.unwanted == ([] if is_kept else expected)


def test_desired_shared_permissions(nvd):
    old = nvd.live("DaemonSet", "old", metadata={"labels": {OS_LABEL: "ubuntu24.04"}})
    assert desired(nvd.app(live=[old])).unwanted == [("DaemonSet", "old")]


@pytest.mark.parametrize("spec", [{"secretEnv": "s"}, {"upgradePolicy": {"maxUnavailable": "x"}}])
def test_desired_failure_deletes_nothing(nvd, spec):
    old = nvd.live("DaemonSet", "old", metadata={"labels": {OS_LABEL: "ubuntu22.04"}})
    wanted = desired(nvd.app(spec, live=[old]))
    assert wanted.failure
    assert wanted.unwanted == []
    assert ("ServiceAccount", ACCOUNT) in names(wanted)


def test_desired_node_without_labels(nvd):
    broken = nvd.node("x", labels={f"{nvd.nfd}system-os_release.ID": None})
    wanted = desired(nvd.app(nodes=[broken, nvd.node()]))
    assert "of node x" in str(wanted.failure)
    assert names(wanted)[-1][0] == "DaemonSet"


def test_desired_upgrade_own_nodes(nvd):
    state = {STATE: "cordon-required"}
    nodes = [nvd.node("mine", labels=state), nvd.node("theirs", "b", state)]
    off = {"upgradePolicy": {"autoUpgrade": False}}
    patches = [merge_patch_of(item) for item in desired(nvd.app(off, nodes=nodes)).patches]
    (patch,) = [item for item in patches if STATE in item["metadata"].get("labels", {})]
    assert (patch["metadata"]["name"], patch["metadata"]["labels"][STATE]) == ("mine", None)


def test_finalize_releases_nodes(nvd):
    nodes = [nvd.node("mine", labels={STATE: "drain-required"}), nvd.node("theirs", "b")]
    nodes[0]["spec"]["unschedulable"] = True
    nodes[0]["metadata"]["annotations"][ENABLED] = "true"
    wanted = finalize(nvd.app(nodes=nodes))
    merged = [merge_patch_of(patch) for patch in wanted.patches]
    assert {item["metadata"]["name"] for item in merged} == {"mine"}
    assert labels_set(wanted) == {"mine": None}
    assert any(item.get("spec") == {"unschedulable": None} for item in merged)
    assert any(ENABLED in item["metadata"].get("annotations", {}) for item in merged)
    assert wanted.children == []
