# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Processes as /proc shows them: a tree's CPU time and memory."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Stat:
    """One line of /proc/PID/stat; times in clock ticks, those of reaped children apart."""

    pid: int
    name: str
    state: str
    parent: int
    own: int
    reaped: int


@dataclass(frozen=True)
class Memory:
    """Of one process or of several added up, in MiB.

    `pss` shares a page among all that map it, so it can be added up; `rss` counts it each time.
    """

    pss: float
    rss: float

    def __add__(self, other: Memory) -> Memory:
        return Memory(self.pss + other.pss, self.rss + other.rss)


def parse_stat(text: str) -> Stat:
    """The line of a process, whose name may hold spaces and parentheses."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition("(")
    fields = tail.split()
    own, reaped = fields[11:13], fields[13:15]
    return Stat(
        int(pid), name, fields[0], int(fields[1]), sum(map(int, own)), sum(map(int, reaped))
    )


def parse_rollup(text: str) -> Memory:
    """The text of /proc/PID/smaps_rollup; zeros if there is none, as with a zombie."""
    kib = {"Pss": 0, "Rss": 0}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key in kib:
            kib[key] = int(value.split()[0])
    return Memory(kib["Pss"] / 1024, kib["Rss"] / 1024)


def select_tree(stats: t.Iterable[Stat], root: int) -> dict[int, Stat]:
    """A process and all that descend from it, by pid."""
    by_pid = {stat.pid: stat for stat in stats}
    children: dict[int, list[int]] = {}
    for stat in by_pid.values():
        children.setdefault(stat.parent, []).append(stat.pid)
    found: dict[int, Stat] = {}
    queue = [root]
    while queue:
        pid = queue.pop()
        if pid in by_pid and pid not in found:
            found[pid] = by_pid[pid]
            queue += children.get(pid, [])
    return found


def cpu_seconds(tree: t.Mapping[int, Stat]) -> float:
    """What the processes of a tree and all that they have reaped have used so far."""
    return sum(stat.own + stat.reaped for stat in tree.values()) / TICKS


def read_stats() -> list[Stat]:
    """All processes of the machine; one that ends meanwhile is left out."""
    stats = []
    for entry in os.listdir(PROC):
        if entry.isdigit():
            try:
                stats.append(parse_stat((PROC / entry / "stat").read_text(errors="replace")))
            except OSError:
                continue
    return stats


def read_command(pid: int) -> list[str]:
    """Program and arguments of a process; empty if it is gone."""
    try:
        text = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return text.decode(errors="replace").removesuffix("\0").split("\0")


def read_tree(root: int) -> dict[int, Stat]:
    """The tree of a process as it is now."""
    return select_tree(read_stats(), root)


def read_memory(pids: t.Iterable[int]) -> Memory:
    """What these processes hold together."""
    total = Memory(0, 0)
    for pid in pids:
        try:
            total += parse_rollup((PROC / str(pid) / "smaps_rollup").read_text())
        except OSError:
            continue
    return total
