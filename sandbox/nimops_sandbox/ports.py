# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The block of loopback ports that an instance listens on."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import SetupError

FIRST_PORT = 26443
PORTS_PER_INSTANCE = 5
# Controllers of other projects that an instance can run, and the purposes of their ports, which
# follow those that all instances use.
NEIGHBORS: dict[str, tuple[str, ...]] = {
    "lws": ("webhook",),
    "epp": (),
    "prometheus": ("web",),
    "kserve": ("webhook",),
    "metrics": ("resource", "custom"),
    "gateway": ("http", "https"),
    "keda": ("operator", "external"),
    "knative": ("webhook",),
}
_OF_NEIGHBORS = [(name, purpose) for name, purposes in NEIGHBORS.items() for purpose in purposes]
LARGEST_BLOCK = PORTS_PER_INSTANCE + len(_OF_NEIGHBORS)
_STEP = 40
_TRIES = 100


@dataclass(frozen=True)
class Ports:
    """The API server's port and the ports after it."""

    api: int

    @property
    def etcd(self) -> int:
        return self.api + 1

    @property
    def etcd_peer(self) -> int:
        return self.api + 2

    @property
    def kwok(self) -> int:
        return self.api + 3

    @property
    def models(self) -> int:
        """The HTTP proxy of model_server.py, which plays the network of simulated pods."""
        return self.api + 4

    def neighbor(self, name: str, purpose: str) -> int:
        """Return a port of a neighbor; only an instance that runs it needs it."""
        return self.api + PORTS_PER_INSTANCE + _OF_NEIGHBORS.index((name, purpose))

    def of_neighbor(self, name: str) -> list[int]:
        return [self.neighbor(name, purpose) for purpose in NEIGHBORS[name]]

    def __iter__(self) -> Iterator[int]:
        return iter((self.api, self.etcd, self.etcd_peer, self.kwok, self.models))


def is_free(port: int) -> bool:
    """Return whether a process could listen on this port of 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Same as in Go: a port with connections in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(
    wanted: int | None, free: Callable[[int], bool] = is_free, neighbors: Sequence[str] = ()
) -> Ports:
    """Return the block that starts at `wanted`, or the first free one if that is None.

    It includes the ports of these neighbors.

    Raises SetupError if a port of the wanted block, or every block, is taken.
    """
    if wanted is not None:
        require_free(_block(wanted, neighbors), free)
        return Ports(wanted)
    for first in range(FIRST_PORT, FIRST_PORT + _TRIES * _STEP, _STEP):
        if all(free(port) for port in _block(first, neighbors)):
            return Ports(first)
    raise SetupError(
        f"no free ports from {FIRST_PORT} on: set SANDBOX_PORT to the first of "
        f"{PORTS_PER_INSTANCE} free ones"
    )


def _block(first: int, neighbors: Sequence[str]) -> list[int]:
    ports = Ports(first)
    return [*ports, *(port for name in neighbors for port in ports.of_neighbor(name))]


def require_free(
    ports: list[int], free: Callable[[int], bool] = is_free, patience: float = 0.0
) -> None:
    """Raise SetupError, naming the listener, if a port stays taken for `patience` seconds."""
    deadline = time.monotonic() + patience
    for port in ports:
        while not free(port):
            if time.monotonic() >= deadline:
                raise SetupError(
                    f"port {port} of 127.0.0.1 is occupied{_describe_holder(port)}: stop that "
                    "process, or set SANDBOX_PORT to the first of "
                    f"{PORTS_PER_INSTANCE} free ports"
                )
            time.sleep(0.1)


def _describe_holder(port: int) -> str:
    for inode in _listening_inodes(port):
        for link in Path("/proc").glob("[0-9]*/fd/*"):
            try:
                if os.readlink(link) == f"socket:[{inode}]":
                    pid = link.parts[2]
                    return f" by {Path('/proc', pid, 'comm').read_text().strip()} (pid {pid})"
            except OSError:  # gone in the meantime, or another user's
                continue
    return ""


def _listening_inodes(port: int) -> Iterator[str]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                yield fields[9]
