# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._gpu.nodes import (
    Nodes,
    OperatingSystem,
    has_device,
    short_kernel,
)

NFD = "feature.node.kubernetes.io/"
PRESENT = {"nvidia.com/gpu.present": "true"}
KERNEL = f"{NFD}kernel-version.full"
LABELS = {
    f"{NFD}pci-10de.present": "true",
    f"{NFD}system-os_release.ID": "ubuntu",
    f"{NFD}system-os_release.VERSION_ID": "24.04",
    KERNEL: "6.8.0-60-generic",
}


def make_node(name="gpu-0", labels=None, runtime="containerd://2.1.0"):
    """A node with a GPU; a label of None is absent."""
    merged = {**LABELS, **(labels or {})}
    found = {key: value for key, value in merged.items() if value is not None}
    status = {"nodeInfo": {"containerRuntimeVersion": runtime}}
    return {"metadata": {"name": name, "labels": found}, "status": status}


def test_nodes_without_nfd():
    node = {"metadata": {"name": "a", "labels": {"kubernetes.io/os": "linux"}}}
    nodes = Nodes([node, {"metadata": {"name": "b"}}])
    assert not nodes.have_nfd_labels
    assert nodes.with_gpu == []
    assert nodes.runtime == "containerd"
    assert Nodes([make_node()]).have_nfd_labels


def test_nodes_with_gpu():
    nodes = [make_node("b", PRESENT), make_node("a", PRESENT), make_node("c")]
    nodes.append(make_node("d", {"nvidia.com/gpu.present": "false"}))
    assert [item["metadata"]["name"] for item in Nodes(nodes).with_gpu] == ["a", "b"]


DEVICES = {
    "10de": True,
    "0300_10de": True,
    "0302_10de": True,
    "0302_10de_2330": True,
    "10de_2330": True,
    "0302_10de_2330_10de_1626": True,
    "0302_8086": False,
    "0200_10de": False,
    "0302": False,
    "8086_10de": False,
    "10de_": False,
}


@pytest.mark.parametrize(("name", "has_gpu"), DEVICES.items())
def test_has_device(name, has_gpu):
    bare, label = {f"{NFD}pci-10de.present": None}, f"{NFD}pci-{name}.present"
    assert has_device(make_node("a", {**bare, label: "true"})) is has_gpu
    assert not has_device(make_node("a", {**bare, label: "false"}))


@pytest.mark.parametrize(
    ("id_", "version", "tag"),
    [
        ("ubuntu", "24.04", "ubuntu24.04"),
        ("rhel", "9.4", "rhel9"),
        ("rocky", "8.10", "rocky8"),
        ("ol", "9", "ol9"),
        ("sles", "15.6", "sles15.6"),
    ],
)
def test_operating_system_tag(id_, version, tag):
    assert OperatingSystem(id_, version).tag == tag


@pytest.mark.parametrize(
    ("label", "what"),
    [("system-os_release.ID", "OS name"), ("system-os_release.VERSION_ID", "OS version")],
)
def test_system_of_missing_label(label, what):
    nodes = Nodes([make_node("a", {**PRESENT, f"{NFD}{label}": None})])
    with pytest.raises(NimError) as caught:
        _ = nodes.operating_system
    assert str(caught.value) == (
        "failed to retrieve GPU node OS info: unable to retrieve"
        f" {what} from label {NFD}{label} of node a"
    )


@pytest.mark.parametrize(
    ("runtimes", "runtime"),
    [
        (["containerd://2.1"], "containerd"),
        (["docker://27"], "docker"),
        (["cri-o://1.33"], "crio"),
        (["cri-o://1.33", "containerd://2.1"], "containerd"),
        (["containerd://2.1", "docker://27"], "containerd"),
        (["docker://27", "cri-o://1.33"], "crio"),
        (["podman://5", ""], "containerd"),
        (["cri-o://1.33", "podman://5"], "crio"),
    ],
)
def test_runtime_containerd(runtimes, runtime):
    nodes = [make_node(f"n{number}", PRESENT, item) for number, item in enumerate(runtimes)]
    nodes.append(make_node("cpu", {"nvidia.com/gpu.present": "false"}, "containerd://1.7"))
    assert Nodes(nodes).runtime == runtime


def test_operating_system_other_node_without_labels():
    bare = make_node("a", {**PRESENT, f"{NFD}system-os_release.ID": None})
    assert Nodes([bare, make_node("b", PRESENT)]).operating_system.tag == "ubuntu24.04"


def test_kernels():
    nodes = [make_node("a", PRESENT), make_node("c", PRESENT)]
    nodes.insert(1, make_node("b", {**PRESENT, KERNEL: "5.15"}))
    expected = dict.fromkeys(("6.8.0-60-generic", "5.15"), OperatingSystem("ubuntu", "24.04"))
    assert Nodes(nodes).kernels == expected


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({KERNEL: None}, f"from label {KERNEL} of node b"),
        ({f"{NFD}system-os_release.VERSION_ID": "22.04"}, "different OS versions found for the"),
    ],
)
def test_kernels_ambiguous(labels, why):
    nodes = Nodes([make_node("a", PRESENT), make_node("b", {**PRESENT, **labels})])
    with pytest.raises(NimError, match=why):
        _ = nodes.kernels


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        ("6.8.0-60-generic", "6.8.0-60-generic"),
        ("5.14.0-427.el9.x86_64", "5.14.0-427.el9"),
        ("5.14.0-427.EL9_4.aarch64", "5.14.0-427.el9.4"),
    ],
)
def test_short_kernel(kernel, name):
    assert short_kernel(kernel) == name
