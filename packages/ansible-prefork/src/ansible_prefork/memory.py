# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The memory that is left for runs: the limit of this process's control group, and its usage."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ansible_prefork import client

MIB = 1024 * 1024
# The memory that runs may take between two checks, and that the kernel counts late.
RESERVE = 64 * MIB
# A directory that replaces the control group of this process, for tests.
GROUP = b"PREFORK_CGROUP"
_SYSTEM = Path("/sys/fs/cgroup")
# Files with the limit and the usage, and the prefix of the entries for reclaimable memory, in each cgroup version.
_VERSIONS = (("memory.max", "memory.current", ""), ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))
# Version 1 has no word for "none", only a number that no machine reaches.
_NO_LIMIT = 1 << 60


class MemoryBudget:
    """The memory that is left for the runs of a parent. ``run_limit``: the limit of one run, 0 if it has none."""

    def __init__(self, environment: dict[bytes, bytes]) -> None:
        self.run_limit = client.get_limit(environment, client.RUN_MEMORY) * MIB
        chosen = environment.get(GROUP, b"").decode()
        self._group = min(_limited([Path(chosen)] if chosen else _own_groups()), default=None)

    @property
    def is_bounded(self) -> bool:
        return self._group is not None and self.run_limit > 0

    def lacks(self, wanted: int) -> bool:
        """Whether less than ``wanted`` bytes are left. Cached files count as left; they are read only if needed."""
        if self._group is None:
            return False
        limit, group, (_limit, usage, prefix) = self._group
        with contextlib.suppress(OSError, ValueError):
            left = limit - int((group / usage).read_text())
            return left < wanted and left + _cached(group, prefix) < wanted
        return False

    def describe(self) -> str:
        """A description for messages."""
        limit = self._group[0] // MIB if self._group else 0
        return f"the limit is {limit} MiB, and a run may take {self.run_limit // MIB} MiB"


def _limited(groups: Iterable[Path]) -> Iterator[tuple[int, Path, tuple[str, str, str]]]:
    """The groups that have a limit: the limit, the directory, and the names of its files."""
    for group in groups:
        for names in _VERSIONS:
            with contextlib.suppress(OSError, ValueError):
                limit = int((group / names[0]).read_text())
                if limit < _NO_LIMIT:
                    yield limit, group, names


def _own_groups() -> Iterator[Path]:
    """The group of this process and its ancestors; in a container, the topmost is the container's."""
    for line in _own_paths():
        _number, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            own = Path(path.lstrip("/"))
            for part in (own, *own.parents):
                yield _SYSTEM / controllers / part


def _own_paths() -> list[str]:
    try:
        return Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []


def _cached(group: Path, prefix: str) -> int:
    wanted = {f"{prefix}active_file", f"{prefix}inactive_file"}
    lines = (line.split() for line in (group / "memory.stat").read_text().splitlines())
    return sum(int(value) for name, value in lines if name in wanted)
