# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Facts about GPU nodes, from their labels and container runtimes."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from .._base.errors import NimError
from .._base.types import Manifest
from .._engine.kind import NodeFacts
from .upgrade import labels

GPU_PRESENT = "nvidia.com/gpu.present"
MISSING_SINCE = "nimops.nim/gpu-missing-since"
"""Annotation of this operator: when `DEVICE` was first missing, in seconds since 1970."""

DEPLOY = "nvidia.com/gpu.deploy."
"""Prefix of the node labels that deploy an operand."""

OWNER = "nvidia.com/gpu-operator.driver.owner"
"""Node label with the name of its NVIDIADriver."""

_NFD = "feature.node.kubernetes.io/"
_PCI = f"{_NFD}pci-"
DEVICE = f"{_PCI}10de.present"
"""Label by which Node Feature Discovery marks a node with a GPU, as it is usually configured."""
_DEVICES = (DEVICE, f"{_PCI}0302_10de.present", f"{_PCI}0300_10de.present")
_ANY_DEVICE = r"feature\.node\.kubernetes\.io/pci-(030[02]_)?10de(_[0-9a-f]{4}){0,3}\.present"
"""All forms of this label: the class, the device and the subsystem are optional."""
OS_ID, OS_VERSION = f"{_NFD}system-os_release.ID", f"{_NFD}system-os_release.VERSION_ID"
OS_MAJOR = f"{OS_VERSION}.major"
KERNEL = f"{_NFD}kernel-version.full"
MIG_CAPABLE, PRODUCT = "nvidia.com/mig.capable", "nvidia.com/gpu.product"
VGPU_HOST_DRIVER = "nvidia.com/vgpu.host-driver-version"
"""Labels of GPU feature discovery."""

MIG_CONFIG, MIG_STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
"""Labels with the MIG layout that a node should have, and the progress of the MIG manager."""

NODE_FACTS = NodeFacts(
    prefix=_NFD,
    device=_ANY_DEVICE,
    present=GPU_PRESENT,
    marks=(OWNER, labels.STATE),
    labels=(
        f"{DEPLOY}operands",
        f"{DEPLOY}container-toolkit",
        "nvidia.com/gpu.workload.config",
        MIG_CAPABLE,
        PRODUCT,
        MIG_STATE,
        VGPU_HOST_DRIVER,
        labels.SKIP,
        OS_ID,
        OS_VERSION,
        f"{_NFD}system-os_release.OSTREE_VERSION",
        KERNEL,
    ),
    request=labels.REQUESTED,
)
_DEVICE_LABEL = re.compile(_ANY_DEVICE)
_BY_MAJOR = ("ol", "rocky", "rhel")
_RUNTIMES = {"docker": "docker", "containerd": "containerd", "cri-o": "crio"}
_ARCHITECTURE = re.compile(r"[._-](?:x86_64|aarch64|amd64|arm64)$")


@dataclass(frozen=True)
class OperatingSystem:
    """The operating system of a GPU node, from labels of Node Feature Discovery."""

    id: str
    version: str

    @property
    def is_by_major(self) -> bool:
        """Whether one image serves all minor versions."""
        return self.id in _BY_MAJOR

    @property
    def major(self) -> str:
        """The major version."""
        return self.version.partition(".")[0]

    @property
    def tag(self) -> str:
        """The tag of images; some distributions use only the major version."""
        return f"{self.id}{self.major if self.is_by_major else self.version}"


@dataclass(frozen=True)
class Nodes:
    """The nodes, with the labels that they have after this pass."""

    items: t.Sequence[Manifest]

    @property
    def have_nfd_labels(self) -> bool:
        """Whether any node has labels of Node Feature Discovery."""
        return any(map(has_features, self.items))

    @property
    def with_gpu(self) -> list[Manifest]:
        """The nodes with a GPU, sorted by name."""
        found = [node for node in self.items if labels_of(node).get(GPU_PRESENT) == "true"]
        return sorted(found, key=lambda node: str(node["metadata"]["name"]))

    @property
    def operating_system(self) -> OperatingSystem:
        """The operating system of the first GPU node with its labels; NimError if there is none."""
        found = self.with_gpu
        return system_of(next(filter(_has_system, found), found[0]))

    @property
    def runtime(self) -> str:
        """The container runtime of the GPU nodes; containerd if any node uses it."""
        return preferred_runtime(map(runtime_of, self.with_gpu))

    @property
    def kernels(self) -> dict[str, OperatingSystem]:
        """Kernels of the GPU nodes with their operating systems; NimError if ambiguous."""
        found: dict[str, OperatingSystem] = {}
        # A node that keeps the stack while Node Feature Discovery restarts has no labels of it.
        for node in list(filter(has_device, self.with_gpu)) or self.with_gpu:
            kernel, system = kernel_of(node), _os_of(node)
            if found.setdefault(kernel, system) != system:
                raise NimError(
                    f"different OS versions found for the same kernel version {kernel},"
                    " unsupported configuration"
                )
        return found


def labels_of(node: Manifest) -> dict[str, str]:
    """The labels of a node."""
    return node["metadata"].get("labels") or {}


def runtime_of(node: Manifest) -> str:
    """The container runtime of a node; empty if it is unknown."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    version = str(info.get("containerRuntimeVersion") or "")
    return next((_RUNTIMES[name] for name in _RUNTIMES if version.startswith(name)), "")


def preferred_runtime(runtimes: t.Iterable[str]) -> str:
    """The runtime to configure for nodes: containerd if any uses it, otherwise the last known."""
    known = [runtime for runtime in runtimes if runtime]
    return "containerd" if "containerd" in known or not known else known[-1]


def has_features(node: Manifest) -> bool:
    """Whether a node has labels of Node Feature Discovery."""
    return any(label.startswith(_NFD) for label in labels_of(node))


def has_device(node: Manifest) -> bool:
    """Whether Node Feature Discovery reports a GPU of a node."""
    labels = labels_of(node)
    return any(labels.get(name) == "true" for name in _DEVICES) or any(
        name.startswith(_PCI) and value == "true" and _DEVICE_LABEL.fullmatch(name)
        for name, value in labels.items()
    )


def owner_of(node: Manifest) -> str:
    """The name of the NVIDIADriver of a node; empty if it has none."""
    return labels_of(node).get(OWNER) or ""


def system_of(node: Manifest) -> OperatingSystem:
    """The operating system of a node; NimError if its labels are missing."""
    for label, what in ((OS_ID, "OS name"), (OS_VERSION, "OS version")):
        if not labels_of(node).get(label):
            raise NimError(
                "failed to retrieve GPU node OS info: unable to retrieve"
                f" {what} from label {label}{_of(node)}"
            )
    return _os_of(node)


def kernel_of(node: Manifest) -> str:
    """The kernel of a node; NimError if its label is missing."""
    if kernel := labels_of(node).get(KERNEL):
        return kernel
    raise NimError(f"unable to retrieve the kernel from label {KERNEL}{_of(node)}")


def short_kernel(kernel: str) -> str:
    """The kernel version without the architecture, for object names."""
    return _ARCHITECTURE.sub("", kernel).replace("_", ".").lower()


def _has_system(node: Manifest) -> bool:
    return all(labels_of(node).get(label) for label in (OS_ID, OS_VERSION))


def _os_of(node: Manifest) -> OperatingSystem:
    labels = labels_of(node)
    return OperatingSystem(labels.get(OS_ID, ""), labels.get(OS_VERSION, ""))


def _of(node: Manifest) -> str:
    return f" of node {node['metadata']['name']}"
