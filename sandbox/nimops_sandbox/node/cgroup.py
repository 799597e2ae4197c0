# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The control group of all processes of a node, for a reliable kill. Versions 1 and 2."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import SandboxError
from . import mounts
from .mounts import Mount

_PATIENCE = 20.0


@dataclass(frozen=True)
class ControlGroup:
    """The groups of one name in all hierarchies. The kubelet creates the pods' groups below."""

    name: str
    hierarchies: tuple[Path, ...]
    unified: Path | None

    def create(self) -> None:
        for hierarchy in self.hierarchies:
            (hierarchy / self.name).mkdir(exist_ok=True)
        if self.unified:
            _delegate(self.unified, self.unified / self.name)
        self._own.mkdir(exist_ok=True)

    def join(self) -> None:
        """Add this process, and thus its future children, to the group."""
        (self._own / "cgroup.procs").write_text(str(os.getpid()))

    def pids(self) -> set[int]:
        return {pid for group in self._groups() for pid in _read_pids(group)}

    def kill(self) -> None:
        """Kill all processes in the group, and wait until they are gone."""
        deadline = time.monotonic() + _PATIENCE
        while pids := self.pids():
            if time.monotonic() > deadline:
                raise SandboxError(f"could not be killed: processes {sorted(pids)}")
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)

    def remove(self) -> None:
        """Remove the empty groups. The kernel may need a moment after the last process."""
        deadline = time.monotonic() + _PATIENCE
        for group in self._groups():
            while not _is_removed(group):
                if time.monotonic() > deadline:
                    raise SandboxError(f"control group {group} cannot be removed: it is in use")
                time.sleep(0.05)

    @property
    def _own(self) -> Path:
        """The group of processes outside of pods, in one hierarchy (enough to find them)."""
        return (self.unified or self.hierarchies[0]) / self.name / "processes"

    def _groups(self) -> Iterator[Path]:
        """All existing groups, inner ones first."""
        for hierarchy in self.hierarchies:
            for folder, _, _ in os.walk(hierarchy / self.name, topdown=False):
                yield Path(folder)


def find(name: str, table: Sequence[Mount] | None = None) -> ControlGroup:
    """Return the group of that name in the hierarchies of this machine or of a mount table."""
    table = mounts.read() if table is None else table
    paths = tuple(mount.path for mount in table if mount.kind in ("cgroup", "cgroup2"))
    if not paths:
        raise SandboxError("no control groups are mounted at /sys/fs/cgroup")
    unified = next((mount.path for mount in table if mount.kind == "cgroup2"), None)
    return ControlGroup(name, paths, unified)


def _delegate(root: Path, group: Path) -> None:
    """Enable all controllers of version 2 for the groups below this one."""
    wanted = " ".join(f"+{name}" for name in (root / "cgroup.controllers").read_text().split())
    for folder in (root, group):
        if wanted:
            (folder / "cgroup.subtree_control").write_text(wanted)


def _read_pids(group: Path) -> list[int]:
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    except OSError:  # gone in the meantime
        return []


def _is_removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
