# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""CPU time and memory of processes."""

from __future__ import annotations

import contextlib
import os
import signal
import types
import typing as t
from dataclasses import dataclass

import psutil

ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


Process = types.SimpleNamespace
"""A process at one moment, with these attributes of psutil."""

ATTRIBUTES = ("name", "status", "ppid", "cpu_times")


@dataclass(frozen=True)
class Memory:
    """Memory of processes in MiB.

    `pss` divides a page among the processes that map it, so it can be added up; `rss` counts it each time.
    """

    pss: float
    rss: float


def list_processes() -> dict[int, Process]:
    """All processes by pid."""
    return _describe(psutil.process_iter())


def read_tree(root: int) -> dict[int, Process]:
    """A process and its descendants, by pid."""
    try:
        process = psutil.Process(root)
        return _describe([process, *process.children(recursive=True)])
    except psutil.Error:
        return {}


def _describe(processes: t.Iterable[psutil.Process]) -> dict[int, Process]:
    """The processes that do not end meanwhile."""
    found = {}
    for item in processes:
        with contextlib.suppress(psutil.Error):
            found[item.pid] = Process(**item.as_dict(ATTRIBUTES))
    return found


def read_command(pid: int) -> list[str]:
    """Program and arguments of a process; empty if it has ended."""
    try:
        return list(psutil.Process(pid).cmdline())
    except psutil.Error:
        return []


def cpu_seconds(tree: t.Mapping[int, Process]) -> float:
    """CPU time of the processes of a tree and of all that they have reaped."""
    return sum(sum(process.cpu_times[:4]) for process in tree.values())  # own, and reaped


def read_memory(pids: t.Iterable[int]) -> Memory:
    """Memory of these processes together."""
    pss = rss = 0
    for pid in pids:
        try:
            memory = psutil.Process(pid).memory_full_info()
        except psutil.Error:
            continue
        pss, rss = pss + memory.pss, rss + memory.rss
    return Memory(pss / 2**20, rss / 2**20)


def send(pids: t.Iterable[int], number: signal.Signals) -> None:
    """Send a signal to those processes that still exist."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


@contextlib.contextmanager
def stopped(pids: t.Iterable[int]) -> t.Iterator[None]:
    """Stop processes during the block."""
    held = list(pids)
    send(held, signal.SIGSTOP)
    try:
        yield
    finally:
        send(held, signal.SIGCONT)
