# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a command as in a container: with its own folder as /tmp, on request with its own network.

    contain.py --tmp FOLDER [--keep PATH]... [--network PORT FD] -- COMMAND...

Kept folders of the former /tmp are mounted in the new one: a checkout may be below /tmp. A new
network has nothing but `lo`; a socket that listens there on a port is sent over a file descriptor,
so that the receiver forwards its connections.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import socket
import struct
import subprocess
from pathlib import Path

NEW_MOUNTS = 0x00020000
NEW_USER = 0x10000000
NEW_PIDS = 0x20000000
NEW_NETWORK = 0x40000000

SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
SIOCSIFADDR = 0x8916
IFF_UP = 1

TMP = Path("/tmp")
_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    if _libc.unshare(flags):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")


def mount(*words: str | Path) -> None:
    """Run mount(8) with these arguments; CalledProcessError, after its message, if it fails."""
    subprocess.run(["mount", *map(str, words)], check=True)


def keep_mounts_private() -> None:
    """Keep later mounts in this namespace."""
    mount("--make-rprivate", "/")


def raise_loopback() -> None:
    """Bring `lo` up: a new network has nothing else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        request = struct.pack("16sh14x", b"lo", 0)
        flags: int = struct.unpack("16sh14x", fcntl.ioctl(link, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(link, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def add_address(address: str) -> None:
    """Add an address to this machine; only in its own network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        content = socket.inet_aton(address)
        request = struct.pack("16sHH4s8x", b"lo:1", socket.AF_INET, 0, content)
        fcntl.ioctl(link, SIOCSIFADDR, request)


def send_listener(port: int, descriptor: int) -> None:
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    with listener, socket.socket(fileno=descriptor) as channel:
        socket.send_fds(channel, [b"l"], [listener.fileno()])


def replace_tmp(folder: Path, kept: list[Path]) -> None:
    """Mount the folder over /tmp, with the kept folders below it, at their former paths."""
    for path in kept:
        below = folder / path.relative_to(TMP)
        below.mkdir(parents=True, exist_ok=True)
        mount("--rbind", path, below)
    mount("--rbind", folder, TMP)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tmp", type=Path, required=True)
    parser.add_argument("--keep", type=Path, action="append", default=[])
    parser.add_argument("--network", type=int, nargs=2, metavar=("PORT", "FD"))
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    unshare(NEW_MOUNTS | (NEW_NETWORK if options.network else 0))
    keep_mounts_private()
    if options.network:
        raise_loopback()
        send_listener(*options.network)
    replace_tmp(options.tmp, options.keep)
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
