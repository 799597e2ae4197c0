# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._engine.desired import ABSENT
from ansible_collections.nimops.nim.plugins.module_utils._engine.patches import merge_patch_of
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.node_labels import (
    Presence,
    clean,
    is_turned_off,
    labeled,
    node_patch,
)
from ansible_collections.nimops.nim.plugins.module_utils._gpu.clusterpolicy.spec import parse_spec
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import has_device

PCI = "feature.node.kubernetes.io/pci-10de.present"
DEPLOY = "nvidia.com/gpu.deploy."
PRESENT = "nvidia.com/gpu.present"
SINCE = "nimops.nim/gpu-missing-since"
UPGRADE = "nvidia.com/gpu-driver-upgrade-enabled"
CONTAINER = {
    f"{DEPLOY}{name}": "true"
    for name in (
        *("driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm"),
        *("dcgm-exporter", "node-status-exporter", "operator-validator", "client"),
    )
}


def patch_of(node, spec=None, presence=None):
    return node_patch(parse_spec(spec or {}), node, presence or Presence(has_device(node)))


def fields_of(patch):
    """The labels and annotations that a patch writes; None removes one."""
    metadata = (merge_patch_of(patch) or {"metadata": {}})["metadata"]
    return {**metadata.get("labels", {}), **metadata.get("annotations", {})}


def written(node, spec=None, presence=None):
    """The labels and annotations that a pass writes; None removes one."""
    return fields_of(patch_of(node, spec, presence))


def settled(gpu, labels=None, **more):
    return gpu.node(labels={PRESENT: "true", **CONTAINER, **(labels or {})}, **more)


def test_node_patch_new_gpu(gpu):
    assert written(gpu.node()) == {PRESENT: "true", **CONTAINER}


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({PCI: None}, id="no GPU"),
        pytest.param({PCI: "false"}, id="no GPU according to NFD"),
        pytest.param({PRESENT: "true", **CONTAINER}, id="settled"),
        pytest.param({PCI: None, PRESENT: "false"}, id="GPU removed before"),
    ],
)
def test_node_patch_nothing(gpu, labels):
    assert written(gpu.node(labels=labels)) == {}


@pytest.mark.parametrize("name", ["pci-0302_10de", "pci-0300_10de"])
def test_node_patch_device_classes(gpu, name):
    labels = {PCI: None, f"feature.node.kubernetes.io/{name}.present": "true"}
    assert written(gpu.node(labels=labels))[PRESENT] == "true"


def test_node_patch_user_values(gpu):
    labels = {f"{DEPLOY}driver": "false", f"{DEPLOY}dcgm": ""}
    found = written(gpu.node(labels=labels))
    assert f"{DEPLOY}driver" not in found
    assert found[f"{DEPLOY}dcgm"] == "true"


def test_node_patch_gpu_removed(gpu):
    labels = {PCI: None, f"{DEPLOY}mig-manager": "true", f"{DEPLOY}vgpu-manager": "true"}
    gone = dict.fromkeys([*labels, *CONTAINER])
    del gone[PCI]
    assert written(settled(gpu, labels)) == {PRESENT: "false", **gone}


VALUES = ("false", "pre-installed", "paused-for-mig-change", "")


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("labels", [{PCI: None}, {f"{DEPLOY}operands": "false"}])
def test_node_patch_keeps_user_values(gpu, labels, value):
    labels = {**labels, f"{DEPLOY}driver": value, f"{DEPLOY}mig-manager": value}
    assert not {f"{DEPLOY}driver", f"{DEPLOY}mig-manager"} & written(settled(gpu, labels)).keys()


def test_node_patch_label_missing(gpu):
    kept = Presence(has_gpu=True, missing_since=70, is_kept=True)
    assert written(settled(gpu, {PCI: None}), presence=kept) == {SINCE: "70"}
    waiting = settled(gpu, {PCI: None}, annotations={SINCE: "70"})
    assert written(waiting, presence=kept) == {}
    back = settled(gpu, annotations={SINCE: "70"})
    assert written(back) == {SINCE: None}
    assert written(waiting)[SINCE] is None


def test_clean(gpu):
    labels = {f"{DEPLOY}operands": "true", f"{DEPLOY}dcgm": "false", "nvidia.com/mig.config": "a"}
    node = settled(gpu, labels, annotations={UPGRADE: "true", SINCE: "70", "a": "b"})
    gone = [PRESENT, UPGRADE, SINCE, *(key for key in CONTAINER if key != f"{DEPLOY}dcgm")]
    assert fields_of(clean(node)) == dict.fromkeys(gone)
    assert fields_of(clean(gpu.node())) == {}


def test_is_turned_off(gpu):
    off = {f"{DEPLOY}operands": "false"}
    assert is_turned_off(settled(gpu, off))
    assert not is_turned_off(settled(gpu))
    assert not is_turned_off(gpu.node(labels={**off, f"{DEPLOY}dcgm": "false"}))


def test_node_patch_operands_off(gpu):
    labels = {f"{DEPLOY}operands": "false"}
    assert written(settled(gpu, labels)) == dict.fromkeys(CONTAINER)
    assert written(gpu.node(labels=labels)) == {PRESENT: "true"}
    assert written(gpu.node(labels={f"{DEPLOY}operands": "true"}))[f"{DEPLOY}driver"] == "true"


def test_node_patch_other_stacks(gpu):
    others = {f"{DEPLOY}vgpu-manager": "true", f"{DEPLOY}dra-driver": "false"}
    assert written(settled(gpu, {**others, f"{DEPLOY}mine": "true"})) == dict.fromkeys(others)


@pytest.mark.parametrize(
    ("labels", "is_capable"),
    [
        ({"nvidia.com/mig.capable": "true"}, True),
        ({"nvidia.com/mig.capable": "false", "nvidia.com/gpu.product": "NVIDIA-H100"}, False),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}, True),
        ({"nvidia.com/gpu.product": "NVIDIA-A30"}, True),
        ({"nvidia.com/gpu.product": "Tesla-T4"}, False),
        ({"nvidia.com/mig.capable": "true", "nvidia.com/vgpu.host-driver-version": "1"}, False),
        ({}, False),
    ],
)
def test_node_patch_mig_capable(gpu, labels, is_capable):
    found = written(settled(gpu, labels))
    assert found == ({f"{DEPLOY}mig-manager": "true"} if is_capable else {})


def test_node_patch_mig_manager_empty(gpu):
    labels = {"nvidia.com/mig.capable": "true", f"{DEPLOY}mig-manager": ""}
    assert written(settled(gpu, labels)) == {}


@pytest.mark.parametrize(
    ("manager", "labels", "config"),
    [
        ({"config": {"default": "all-disabled"}}, {}, "all-disabled"),
        ({"config": {"default": ""}}, {}, None),
        ({"config": {"default": "all disabled"}}, {}, None),
        ({}, {}, None),
        ({"config": {"default": "all-disabled"}, "enabled": False}, {}, None),
        ({"config": {"default": "all-disabled"}}, {"nvidia.com/mig.config": "mine"}, None),
        ({"config": {"default": "all-disabled"}}, {"nvidia.com/mig.capable": "false"}, None),
    ],
)
def test_node_patch_mig_default(gpu, manager, labels, config):
    node = settled(gpu, {"nvidia.com/mig.capable": "true", **labels})
    assert written(node, {"migManager": manager}).get("nvidia.com/mig.config") == config


AUTO = {"driver": {"upgradePolicy": {"autoUpgrade": True}}}


@pytest.mark.parametrize(
    ("spec", "has_gpu", "has_annotation", "expected"),
    [
        (AUTO, True, False, {UPGRADE: "true"}),
        (AUTO, True, True, {}),
        (AUTO, False, True, {UPGRADE: None}),
        ({}, True, True, {UPGRADE: None}),
        ({}, True, False, {}),
        ({"driver": {"enabled": False, **AUTO["driver"]}}, True, True, {UPGRADE: None}),
    ],
)
def test_node_patch_upgrade_annotation(gpu, spec, has_gpu, has_annotation, expected):
    annotations = {UPGRADE: "true"} if has_annotation else {}
    node = settled(gpu, annotations=annotations)
    if not has_gpu:
        node = gpu.node(labels={PCI: None}, annotations=annotations)
    assert written(node, spec) == expected


def test_labeled(gpu):
    node = gpu.node(labels={f"{DEPLOY}driver": "false", f"{DEPLOY}dra-driver": "true"})
    labels = labeled(patch_of(node))["metadata"]["labels"]
    assert labels[PRESENT] == "true"
    assert (labels[f"{DEPLOY}driver"], labels[f"{DEPLOY}dcgm"]) == ("false", "true")
    assert f"{DEPLOY}dra-driver" not in labels
    assert f"{DEPLOY}dra-driver" in node["metadata"]["labels"], "the node itself is as it was"


def test_node_patch_nvidia_driver_nodes(gpu):
    owner = {"nvidia.com/gpu-operator.driver.owner": "a"}
    spec = {"driver": {"useNvidiaDriverCRD": True, **AUTO["driver"]}}

    def fields(labels):
        patch = patch_of(gpu.node(labels=labels, annotations={UPGRADE: "true"}), spec)
        return [item for item in patch.fields if item.path[1] == "annotations"]

    assert fields(owner) == []
    assert [item.value for item in fields({})] == [ABSENT]


PLUGIN, MIG, CAPABLE = f"{DEPLOY}device-plugin", "nvidia.com/mig.config", "nvidia.com/mig.capable"
STATE, HELD = f"{MIG}.state", "paused-for-mig-change"
LAYOUT = {MIG: "all-1g.10gb"}


@pytest.mark.parametrize(
    ("labels", "spec", "expected"),
    [
        pytest.param(LAYOUT, {}, HELD, id="joins with a layout"),
        pytest.param(LAYOUT | {STATE: "pending"}, {}, HELD, id="MIG is pending"),
        pytest.param(LAYOUT | {STATE: "success"}, {}, "true", id="MIG is done"),
        pytest.param(LAYOUT | {STATE: "failed"}, {}, "true", id="MIG failed"),
        pytest.param({MIG: "all-disabled"}, {}, "true", id="whole GPUs"),
        pytest.param(LAYOUT | {CAPABLE: "true"}, {}, "true", id="as the reference"),
        pytest.param(LAYOUT | {CAPABLE: "false"}, {}, "true", id="not capable"),
        pytest.param(LAYOUT | {f"{DEPLOY}mig-manager": "false"}, {}, "true", id="no MIG manager"),
        pytest.param(LAYOUT, {"migManager": {"enabled": False}}, "true", id="MIG manager disabled"),
        pytest.param(LAYOUT, {"gfd": {"enabled": False}}, "true", id="nothing reports MIG"),
        pytest.param(LAYOUT | {PLUGIN: "true"}, {}, None, id="deployed before"),
        pytest.param(LAYOUT | {PLUGIN: "false"}, {}, None, id="off"),
        pytest.param(LAYOUT | {PLUGIN: HELD}, {}, None, id="held"),
        pytest.param(LAYOUT | {PLUGIN: HELD, CAPABLE: "true"}, {}, None, id="held: capable"),
        pytest.param(LAYOUT | {PLUGIN: HELD, CAPABLE: "false"}, {}, "true", id="held: not capable"),
        pytest.param({PLUGIN: HELD}, {}, "true", id="held: no layout any more"),
        pytest.param(LAYOUT | {PLUGIN: HELD, STATE: "pending"}, {}, None, id="the MIG manager's"),
        pytest.param(LAYOUT | {PLUGIN: HELD, STATE: "failed"}, {}, None, id="left by MIG manager"),
    ],
)
def test_node_patch_waits_for_mig(gpu, labels, spec, expected):
    """A node that joins offers no GPUs before its MIG layout is applied."""
    assert written(gpu.node(labels=labels), spec).get(PLUGIN) == expected


def test_node_patch_held_plugin_without_stack(gpu):
    held = LAYOUT | {PLUGIN: HELD}
    found = written(settled(gpu, held | {f"{DEPLOY}operands": "false"}))
    assert found[PLUGIN] is None
    found = written(settled(gpu, held | {f"{DEPLOY}operands": "false", STATE: "pending"}))
    assert PLUGIN not in found
