# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""How much memory is left for runs: what the control group of this process may have, and what it has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ansible_prefork import client

MIB = 1024 * 1024
# What runs may take between two looks, and what the kernel counts late.
RESERVE = 64 * MIB
# Instead of the group of this process, a directory with its files: for tests.
GROUP = b"PREFORK_CGROUP"
_SYSTEM = Path("/sys/fs/cgroup")
# Files of the limit and of what is in use, and the start of the names of what the kernel gives back when it is short.
_VERSIONS = (("memory.max", "memory.current", ""), ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))
# The first version has no word for "none", only a number that no machine reaches.
_NO_LIMIT = 1 << 60


class Room:
    """The memory that is left to the runs of a parent. ``worst``: what one run may take, 0 if that has no limit."""

    def __init__(self, environment: dict[bytes, bytes]) -> None:
        self.worst = client.get_limit(environment, client.RUN_MEMORY) * MIB
        chosen = environment.get(GROUP, b"").decode()
        self._group = min(_limited([Path(chosen)] if chosen else _own_groups()), default=None)

    @property
    def is_bounded(self) -> bool:
        return self._group is not None and self.worst > 0

    def lacks(self, wanted: int) -> bool:
        """Whether less than this is left. What is cached of files counts as left, and is only looked up if need be."""
        if self._group is None:
            return False
        limit, group, (_limit, usage, prefix) = self._group
        with contextlib.suppress(OSError, ValueError):
            left = limit - int((group / usage).read_text())
            return left < wanted and left + _cached(group, prefix) < wanted
        return False

    def describe(self) -> str:
        """What a message says of it."""
        limit = self._group[0] // MIB if self._group else 0
        return f"the limit is {limit} MiB, and a run may take {self.worst // MIB} MiB"


def _limited(groups: Iterable[Path]) -> Iterator[tuple[int, Path, tuple[str, str, str]]]:
    """Those of the groups that have a limit: the limit, the directory, and the names of its files."""
    for group in groups:
        for names in _VERSIONS:
            with contextlib.suppress(OSError, ValueError):
                limit = int((group / names[0]).read_text())
                if limit < _NO_LIMIT:
                    yield limit, group, names


def _own_groups() -> Iterator[Path]:
    """The group of this process and those that it is in; in a container, the uppermost is the container's."""
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
