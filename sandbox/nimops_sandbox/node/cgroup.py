# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The control group with all processes of a node, so that none can be missed. Versions 1 and 2."""

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
    """The groups of one name in all hierarchies. Those of the pods, by the kubelet, are below."""

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
        """Let this process and all that it starts belong to the group."""
        (self._own / "cgroup.procs").write_text(str(os.getpid()))

    def pids(self) -> set[int]:
        return {pid for group in self._groups() for pid in _read_pids(group)}

    def kill(self) -> None:
        """Kill all that is in the group, and wait until it is gone."""
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
        """Where the processes are that are not in a pod: one hierarchy is enough to find them."""
        return (self.unified or self.hierarchies[0]) / self.name / "processes"

    def _groups(self) -> Iterator[Path]:
        """All that exist, the inner ones first."""
        for hierarchy in self.hierarchies:
            for folder, _, _ in os.walk(hierarchy / self.name, topdown=False):
                yield Path(folder)


def find(name: str, table: Sequence[Mount] | None = None) -> ControlGroup:
    """Return the group of that name in the hierarchies of this machine, or of a table of mounts."""
    table = mounts.read() if table is None else table
    paths = tuple(mount.path for mount in table if mount.kind in ("cgroup", "cgroup2"))
    if not paths:
        raise SandboxError("no control groups are mounted at /sys/fs/cgroup")
    unified = next((mount.path for mount in table if mount.kind == "cgroup2"), None)
    return ControlGroup(name, paths, unified)


def _delegate(root: Path, group: Path) -> None:
    """Let groups below this one have all controllers that version 2 has here."""
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
