# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The request of a client for a run, and turning a process into that run."""

from __future__ import annotations

import array
import codecs
import contextlib
import dataclasses
import fcntl
import functools
import io
import marshal
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from ansible_prefork import client, limits

MAXIMUM_BYTES = 16 * 1024 * 1024
RECEIVE_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Request:
    """The parts of a run. ``received`` are this process's descriptors for the client's ``files``, in order."""

    argv: list[str]
    environment: dict[bytes, bytes]
    directory: bytes
    files: list[int]
    received: list[int]
    umask: int
    ignored: list[int]
    limits: limits.Limits


class WithdrawnError(Exception):
    """The client disconnected before its run began."""


def receive(connection: socket.socket) -> Request:
    """Read one request; ValueError if it is invalid, WithdrawnError if the client disconnected or sends nothing."""
    connection.settimeout(RECEIVE_SECONDS)
    try:
        body, received = _receive_parts(connection)
    except OSError as problem:
        raise WithdrawnError from problem
    connection.settimeout(None)
    protocol, argv, environment, directory, files, umask, ignored = marshal.loads(body)
    if protocol != client.PROTOCOL or len(files) != len(received):
        raise ValueError("a request of another version of prefork")
    return Request(
        [os.fsdecode(item) for item in argv],
        environment,
        directory,
        files,
        received,
        umask,
        ignored,
        limits.read(client.peer(connection)),
    )


def _receive_parts(connection: socket.socket) -> tuple[bytearray, list[int]]:
    received: list[int] = []
    head, ancillary, _flags, _address = connection.recvmsg(8, socket.CMSG_SPACE(253 * 4))
    if not head:
        raise WithdrawnError
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            numbers = array.array("i")
            numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
            received.extend(numbers)
    size = int.from_bytes(head, "little")
    if len(head) < 8 or size > MAXIMUM_BYTES:
        raise ValueError("not a request of a prefork client")
    body = bytearray()
    while len(body) < size:
        chunk = connection.recv(size - len(body))
        if not chunk:
            raise WithdrawnError
        body += chunk
    return body, received


def place_files(files: list[int], received: list[int]) -> None:
    """Give the received descriptors the client's numbers, and close everything else."""
    above = max([*files, 2]) + 1
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, above) for number in received]
    limit = max([*moved, above]) + 1
    kept = set(moved)
    for number in range(above):
        _close(number)
    for number in range(above, limit):
        if number not in kept:
            _close(number)
    os.closerange(limit, 1 << 20)
    for target, source in zip(files, moved, strict=True):
        os.dup2(source, target, inheritable=True)
        os.close(source)
    for number in (0, 1, 2):
        if number not in files:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)


def _close(number: int) -> None:
    with contextlib.suppress(OSError):
        os.close(number)


def set_environment(environment: dict[bytes, bytes]) -> None:
    """Replace the environment of this process, and drop values cached from the previous one."""
    os.environb.clear()
    os.environb.update(environment)
    tempfile.tempdir = None
    time.tzset()


def open_standard_streams(open_raw: Callable[..., io.FileIO] = io.FileIO) -> None:
    """Open sys.stdin, sys.stdout and sys.stderr for the descriptors 0, 1 and 2 as the interpreter does at its start.

    The caller must flush the old objects before.
    """
    open_text = functools.partial(_open_text, open_raw)
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    encoding, errors = "utf-8", sys.stdin.errors or "strict"
    if os.environ.get("PYTHONIOENCODING"):
        chosen, _colon, handler = os.environ["PYTHONIOENCODING"].partition(":")
        encoding, errors = codecs.lookup(chosen).name if chosen else encoding, handler or errors
    errors = errors if errors in ("strict", "surrogateescape", "ignore", "replace", "backslashreplace") else "strict"
    sys.stdin = sys.__stdin__ = open_text(0, "<stdin>", encoding, errors)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = open_text(1, "<stdout>", encoding, errors, unbuffered)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = open_text(2, "<stderr>", encoding, "backslashreplace", unbuffered)  # type: ignore[misc]


def _open_text(
    open_raw: Callable[..., io.FileIO], number: int, name: str, encoding: str, errors: str, unbuffered: bool = False
) -> io.TextIOWrapper:
    raw = open_raw(number, "r" if number == 0 else "w", closefd=False)
    raw.name = name
    binary = io.BufferedReader(raw) if number == 0 else raw if unbuffered else io.BufferedWriter(raw)
    text = io.TextIOWrapper(
        binary,
        encoding=encoding,
        errors=errors,
        line_buffering=not unbuffered and (number == 2 or raw.isatty()),
        write_through=unbuffered,
    )
    text.mode = "r" if number == 0 else "w"  # type: ignore[misc]
    return text


def move_stream(stream: Any, number: int) -> None:
    """Make a standard stream write to another descriptor."""
    stream.flush()
    raw = getattr(stream.buffer, "raw", stream.buffer)
    name = raw.name
    raw.__init__(number, "w", closefd=False)
    raw.name = name


def to_bytes(environment: dict[Any, Any]) -> dict[bytes, bytes]:
    return {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}


def reset_signals(keep_ignored: bool = False) -> None:
    """Set the signal handlers of a new interpreter; an exec would keep ignored signals (``keep_ignored``)."""
    signal.set_wakeup_fd(-1)
    for name in ("SIGCHLD", *client.FORWARDED):
        number = getattr(signal, name)
        if keep_ignored and signal.getsignal(number) is signal.SIG_IGN:
            continue
        signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


def become(request: Request) -> None:
    """Turn this process, a new fork of a parent, into the process that the client represents."""
    reset_signals()
    for number in request.ignored:
        signal.signal(number, signal.SIG_IGN)
    os.setsid()
    place_files(request.files, request.received)
    os.umask(request.umask)
    set_environment(request.environment)
    os.chdir(request.directory)
    limits.apply(request.limits)
    limits.apply_memory_limit(client.get_limit(request.environment, client.RUN_MEMORY))
    sys.argv = list(request.argv)
    open_standard_streams()
