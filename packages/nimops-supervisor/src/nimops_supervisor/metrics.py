# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Let the proxy serve the runtime's metrics with its own, on the address and with the options of the runtime."""

from __future__ import annotations

import socket
from pathlib import Path

from nimops_supervisor.options import option, switch

COUNTERS_VARIABLE = "NIMOPS_COUNTERS"
"""The file in which passes count."""
_ADDRESS, _SECURE, _RESTRICTED = "--metrics-bind-address", "--metrics-secure", "--metrics-require-rbac"
_LOOPBACK = "127.0.0.1"


def divert(command: list[str], port: int, counters: Path) -> tuple[list[str], list[str]]:
    """The command with its metrics on a port of loopback, and the proxy's options to serve them.

    Both are unchanged and empty if the command serves no metrics.
    """
    address = option(command, _ADDRESS)
    if address.rpartition(":")[2] in {"", "0"}:
        return command, []
    given = [name for name in (_SECURE, _RESTRICTED) if switch(command, name)]
    private = f"{_LOOPBACK}:{port}"
    # The last value counts.
    diverted = [*command, f"{_ADDRESS}={private}", *(f"{name}=false" for name in given)]
    served = [f"--metrics=http://{private}/metrics", f"{_ADDRESS}={address}", f"--counters={counters}"]
    return diverted, [*served, *given]


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
