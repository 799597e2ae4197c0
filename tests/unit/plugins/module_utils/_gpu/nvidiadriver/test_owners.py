# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import OWNER
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nvidiadriver.owners import (
    Owners,
    mark,
    release_nodes,
)

ENABLED = "nvidia.com/gpu-driver-upgrade-enabled"


def labels_set(patches):
    """Node -> its owner after the patches."""
    return {
        patch.live["metadata"]["name"]: merge_patch_of(patch)["metadata"]["labels"][OWNER]
        for patch in patches
    }


@pytest.fixture
def world(nvd):
    drivers = [
        nvd.driver("blue", {"nodeSelector": {"pool": "blue"}}),
        nvd.driver("red", {"nodeSelector": {"pool": "red", "big": "yes"}}),
        nvd.driver("rest", {"default": True}),
    ]
    nodes = [
        nvd.node("n1", None, {"pool": "blue"}),
        nvd.node("n2", None, {"pool": "red", "big": "yes"}),
        nvd.node("n3", None, {"pool": "red"}),
        nvd.node("n4", None, {"pool": "blue", "nvidia.com/gpu.present": "false"}),
    ]
    return drivers, nodes


def test_owners_selector_and_default(world):
    owners = Owners(*world)
    assert owners.errors == {}
    assert labels_set(owners.patches("blue", owners.gained("blue"))) == {"n1": "blue"}
    assert labels_set(owners.patches("red", owners.gained("red"))) == {"n2": "red"}
    assert labels_set(owners.patches("rest", owners.gained("rest"))) == {"n3": "rest"}
    assert owners.missing_nodes("rest") == ["n3"]


def test_owners_without_selector(nvd, world):
    _drivers, nodes = world
    owners = Owners([nvd.driver("all")], nodes)
    assert labels_set(owners.patches("all", owners.gained("all"))) == {
        "n1": "all",
        "n2": "all",
        "n3": "all",
    }


def test_owners_relabel(nvd, world):
    drivers, _nodes = world
    nodes = [
        nvd.node("passed", "rest", {"pool": "blue"}),
        nvd.node("gone", "blue", {"nvidia.com/gpu.present": "false"}),
        nvd.node("right", "blue", {"pool": "blue"}),
        nvd.node("stale", "former", {"pool": "blue"}),
    ]
    owners = Owners(drivers, nodes)
    assert owners.patches("rest", owners.gained("rest")) == []
    assert owners.leaving("rest") == {"passed": "blue"}
    assert owners.leaving("blue") == {}
    assert labels_set(owners.patches("blue", owners.gained("blue"))) == {
        "passed": "blue",
        "gone": None,
        "stale": "blue",
    }
    assert owners.patches("red", owners.gained("red")) == []
    without = Owners(drivers[1:2], [nvd.node("left", "red")])
    assert labels_set(without.patches("red", without.gained("red"))) == {"left": None}


OS = "feature.node.kubernetes.io/system-os_release.ID"


@pytest.mark.parametrize("has_features", [True, False])
def test_owners_nfd_restart(nvd, has_features):
    """Without labels of Node Feature Discovery, selectors say nothing: nodes keep their driver."""
    drivers = [
        nvd.driver("a", {"nodeSelector": {OS: "ubuntu"}}),
        nvd.driver("b", {"default": True}),
    ]
    nodes = [nvd.node("owned", "a"), nvd.node("stale", "former"), nvd.node("new", None)]
    for node in nodes:
        found = node["metadata"]["labels"]
        lost = [OS] if has_features else [key for key in found if key.startswith("feature.node")]
        for key in lost:
            del found[key]
    owners = Owners(drivers, nodes)
    moved = {**labels_set(owners.patches("b", owners.gained("b")))}
    moved |= labels_set(owners.patches("a", owners.gained("a")))
    taken = {"stale": "b", "new": "b"}
    assert moved == (taken | {"owned": "b"} if has_features else taken)


def test_owners_conflict(nvd, world):
    drivers, nodes = world
    drivers.append(nvd.driver("twin", {"nodeSelector": {"pool": "blue"}}))
    owners = Owners(drivers, nodes)
    assert set(owners.errors) == {"blue", "twin"}
    error = owners.errors["blue"]
    assert str(error) == "multiple NVIDIADrivers match the same node n1: [blue twin]"
    assert error.reason == "ConflictingNodeSelector"
    found = {name: owners.gained(name) for name in ("blue", "red", "rest", "twin")}
    taken = {name: [node["metadata"]["name"] for node in nodes] for name, nodes in found.items()}
    assert taken == {"blue": [], "red": ["n2"], "rest": ["n3"], "twin": []}


@pytest.mark.parametrize(
    ("spec", "names", "text"),
    [
        ({"default": True}, {"rest", "x"}, "only one NVIDIADriver may be the default: [rest x]"),
        ({"nodeSelector": {OWNER: "x"}}, {"x"}, "nodeSelector: must not use"),
        ({"default": True, "nodeSelector": {"a": "b"}}, {"rest", "x"}, ""),
    ],
)
def test_owners_other_errors(nvd, world, spec, names, text):
    drivers, nodes = world
    owners = Owners([*drivers, nvd.driver("x", spec)], nodes)
    assert set(owners.errors) == names
    assert str(owners.errors["x"]).startswith(text)
    assert labels_set(owners.patches("blue", owners.gained("blue"))) == {"n1": "blue"}
    assert owners.patches("x", owners.gained("x")) == []


def test_owners_long_name(nvd, world):
    drivers, nodes = world
    assert (
        Owners([*drivers, nvd.driver("x" * 63, {"nodeSelector": {"a": "b"}})], nodes).errors == {}
    )
    owners = Owners([*drivers, nvd.driver("x" * 64, {"nodeSelector": {"a": "b"}})], nodes)
    assert list(owners.errors) == ["x" * 64]
    assert str(owners.errors["x" * 64]) == (
        "metadata.name: has 64 characters, but children of an NVIDIADriver use it in names or labels:"
        " recreate it with a name of at most 63"
    )
    assert labels_set(owners.patches("blue", owners.gained("blue"))) == {"n1": "blue"}


def test_owners_deleted_driver(nvd, world):
    drivers, nodes = world
    drivers.append(nvd.driver("twin", {"nodeSelector": {"pool": "blue"}}, deletionTimestamp="x"))
    assert Owners(drivers, nodes).errors == {}


def test_owners_not_served(nvd, world):
    drivers, nodes = world
    drivers[0]["spec"]["driverType"] = "vgpu-host-manager"
    nodes[0]["metadata"]["labels"][OWNER] = "rest"
    owners = Owners(drivers, nodes)
    assert labels_set(owners.patches("rest", owners.gained("rest"))) == {"n3": "rest"}
    assert owners.patches("blue", owners.gained("blue")) == []


def test_release_nodes(nvd):
    nodes = [nvd.node("n1", "a"), nvd.node("n2", "b"), nvd.node("n3", None)]
    assert labels_set(release_nodes(nodes, "a")) == {"n1": None}


def test_mark_upgraded_nodes(nvd):
    nodes = [nvd.node("n1"), nvd.node("n2", annotations={ENABLED: "true"})]
    (patch,) = mark(nodes, is_upgraded=True)
    assert merge_patch_of(patch)["metadata"]["annotations"] == {ENABLED: "true"}
    (patch,) = mark(nodes, is_upgraded=False)
    assert merge_patch_of(patch)["metadata"]["annotations"] == {ENABLED: None}


def test_owners_keeps_node_of_driver_in_error(nvd, world):
    """A driver that became invalid loses no node to the default one."""
    drivers, _nodes = world
    drivers.append(nvd.driver("x", {"nodeSelector": {OWNER: "x"}}))
    owners = Owners(drivers, [nvd.node("held", "x"), nvd.node("free", None)])
    assert labels_set(owners.patches("rest", owners.gained("rest"))) == {"free": "rest"}
    assert str(owners.held("rest")).startswith(
        "node held keeps the driver of NVIDIADriver x: nodeSelector"
    )
    assert owners.held("blue") is None
