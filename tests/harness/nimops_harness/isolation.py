# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Namespaces for this program: a network without a way out, its own processes and mounts.

The namespaces have no name, and end with this program, as do all its processes.
Several runs on one machine do not see each other, and the runtime's fixed ports are free in each.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
from pathlib import Path

from .contain import (
    NEW_MOUNTS,
    NEW_NETWORK,
    NEW_PIDS,
    NEW_USER,
    keep_mounts_private,
    mount,
    raise_loopback,
    unshare,
)
from .errors import HarnessError
from .supervise import die_with_parent, reap_until

FLAGS = NEW_MOUNTS | NEW_NETWORK | NEW_PIDS
REFUSED = (errno.EPERM, errno.ENOSPC, errno.EINVAL, errno.ENOSYS)


def isolate() -> None:
    """Continue in new namespaces. Call it before any thread starts.

    Three processes: the first waits outside, the second is the namespace's process 1, the third
    returns from here.
    """
    _make_namespaces()
    if pid := os.fork():
        os._exit(_wait_for(pid))
    die_with_parent(signal.SIGKILL)
    keep_mounts_private()
    mount("-t", "proc", "proc", "/proc")
    raise_loopback()
    if pid := os.fork():
        os._exit(_wait_for(pid))
    check_isolation()


def check_isolation() -> None:
    """HarnessError if there is a way out of this network."""
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        raise HarnessError(f"the network is not isolated: it has {', '.join(others)}")


def _make_namespaces() -> None:
    try:
        unshare(FLAGS)
        return
    except OSError as error:
        if error.errno not in REFUSED:
            raise
    user, group = os.getuid(), os.getgid()
    try:
        unshare(FLAGS | NEW_USER)
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
    """The exit code of a child; reaps all others, and forwards SIGTERM and SIGHUP.

    The terminal also sends an interrupt to the child.
    """

    def run_once(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, run_once)
    return reap_until(pid)
