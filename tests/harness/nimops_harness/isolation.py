# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Namespaces for this program: a network without a way out, its own processes and mounts.

The namespaces have no name, and end with this program, as do all its processes.
Several runs on one machine do not see each other, and the runtime's fixed ports are free in each.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import typing as t
from pathlib import Path

from .errors import HarnessError

NEW_MOUNTS, NEW_USER, NEW_PIDS, NEW_NETWORK = 0x00020000, 0x10000000, 0x20000000, 0x40000000
FLAGS = NEW_MOUNTS | NEW_NETWORK | NEW_PIDS
PR_SET_PDEATHSIG = 1

T = t.TypeVar("T")
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")


def mount(*words: str | Path) -> None:
    """Run mount(8) with these arguments; CalledProcessError, after its message, if it fails."""
    subprocess.run(["mount", *map(str, words)], check=True)


def raise_loopback() -> None:
    """Bring `lo` up: a new network has nothing else."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def call_in_network(pid: int, function: t.Callable[[], T]) -> T:
    """Call a function in the network of a process; only a thread of its own changes networks."""

    def enter() -> T:
        with Path(f"/proc/{pid}/ns/net").open() as network:
            _check(_libc.setns(network.fileno(), NEW_NETWORK), "setns")
        return function()

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(enter).result()


def isolate() -> None:
    """Continue in new namespaces. Call it before any thread starts.

    Three processes: the first waits outside, the second is the namespace's process 1, the third
    returns from here.
    """
    _make_namespaces()
    if pid := os.fork():
        os._exit(_wait_for(pid))
    _check(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
    mount("--make-rprivate", "/")
    mount("-t", "proc", "proc", "/proc")
    raise_loopback()
    if pid := os.fork():
        os._exit(_wait_for(pid))
    if others := [name for _, name in socket.if_nameindex() if name != "lo"]:
        raise HarnessError(f"the network is not isolated: it has {', '.join(others)}")


def _make_namespaces() -> None:
    if not _libc.unshare(FLAGS):
        return
    user, group = os.getuid(), os.getgid()
    try:
        _check(_libc.unshare(FLAGS | NEW_USER), "unshare")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except OSError as error:
        raise HarnessError(
            f"this machine does not let us make network, process and mount namespaces ({error}): run it as root "
            "with CAP_SYS_ADMIN (a container: --privileged), or allow user namespaces "
            "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)"
        ) from None


def _wait_for(pid: int) -> int:
    """The exit code of a child, 128 + the signal if it died of one; reaps all others, and forwards SIGTERM and SIGHUP.

    The terminal also sends an interrupt to the child.
    """

    def run_once(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, run_once)
    while (found := os.waitpid(-1, 0))[0] != pid:
        pass
    code = os.waitstatus_to_exitcode(found[1])
    return code if code >= 0 else 128 - code
