# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Finds traces of a node on the machine: a stopped node must leave none."""

from __future__ import annotations

import os
from pathlib import Path

# Default folders of containerd, kubelet, CNI plugins and pods.
FOLDERS = (
    "/dev/log",
    "/etc/kubernetes",
    "/opt/containerd",
    "/run/containerd",
    "/run/nvidia",
    "/usr/local/nvidia",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
# The lock of the directory stays, as another command may wait for it.
KEPT = (".lock", "logs")


def find(directory: Path, name: str) -> set[str]:
    """Return processes, mounts and control groups of a node, and the folders that it may create."""
    return {
        *_processes(directory, name),
        *_mounts(directory, name),
        *(str(path) for path in Path("/sys/fs/cgroup").rglob(name)),
        *(str(path) for path in directory.glob("*") if path.name not in KEPT),
        *(str(path) for folder in FOLDERS for path in [Path(folder)] if path.exists()),
    }


def _processes(directory: Path, name: str) -> set[str]:
    """Return processes in its control group or network, or with its mounts or files."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().replace("\0", " ")
            groups = (process / "cgroup").read_text()
            mounts = (process / "mountinfo").read_text()
        except OSError:  # ended meanwhile
            continue
        if str(directory) in words + mounts or name in groups:
            found.add(f"process {process.name}: {words[:80]}")
    return found - {f"process {os.getpid()}"}


def _mounts(directory: Path, name: str) -> set[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if f"{directory}/" in line or name in line}
