# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The command lines of a node's programs and of its control plane."""

from __future__ import annotations

from pathlib import Path

from ..components import Shape
from . import network
from .config import CONTAINERD, LABELS, NAME

SIMULATED_NODES = "sandbox.nimops/simulated=true"
# In start order; the first program, which the kubelet needs, does not need the API server.
NAMES = ("containerd", "kubelet", "kube-proxy", "coredns", "local-path")

REAL = Shape(
    address=network.ADDRESS,
    listen="0.0.0.0",
    service_range=network.SERVICES,
    apiserver=(),
    controllers="*",
    kwok=(
        "--manage-all-nodes=false",
        f"--manage-nodes-with-label-selector={SIMULATED_NODES}",
        "--node-lease-duration-seconds=40",
    ),
)


def command_lines(directory: Path) -> dict[str, list[str]]:
    """Return program and arguments of each component."""
    folder, kubeconfig = directory / "node", directory / "kubeconfig"
    programs = directory / "bin"
    return {
        "containerd": ["containerd", f"--config={folder / CONTAINERD}"],
        "kubelet": [
            str(programs / "kubelet"),
            f"--config={folder / 'kubelet.json'}",
            f"--kubeconfig={kubeconfig}",
            f"--hostname-override={NAME}",
            f"--node-ip={network.ADDRESS}",
            f"--node-labels={','.join(f'{key}={value}' for key, value in LABELS.items())}",
        ],
        "kube-proxy": [str(programs / "kube-proxy"), f"--config={folder / 'kube-proxy.json'}"],
        "coredns": [str(programs / "coredns"), f"-conf={folder / 'Corefile'}"],
        "local-path": [
            str(programs / "local-path"),
            f"-kubeconfig={kubeconfig}",
            f"-directory={folder / 'volumes'}",
            f"-node={NAME}",
        ],
    }
