# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Compile and find the compiled client, which starts in a tenth of the time of an interpreter.

``client.c`` is part of the package. The compiled client is optional: without it, the client in Python does everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from pathlib import Path

NAME = "ansible-prefork-client"
# The directory of the clients in Python, beside the compiled ones, which execute them in all unusual cases.
PYTHON = ".python"
# The mark by which clients recognize each other on PATH.
MARK = b"\n# A client of ansible_prefork.client\n"
OPTIONS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-static", "-s")
SOURCES = (Path(__file__).with_name("client.c"), Path(__file__).with_name("client.py"))
SECONDS = 10


class CompileError(Exception):
    """The client cannot be compiled; the text has the reason."""


def digest() -> str:
    """The digest of both sources: a compiled client is only used with the client in Python of the same version."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in SOURCES)).hexdigest()[:16]


def default_target() -> Path:
    """The path of the compiled client: beside the interpreter, and so in the virtual environment of this package."""
    return Path(sys.executable).parent / NAME


def compile_client(target: Path | None, compiler: str) -> Path:
    """Compile the client; the path of the file."""
    target = target or default_target()
    command = [compiler, *OPTIONS, f'-DDIGEST="{digest()}"', "-o", str(target), str(SOURCES[0])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as problem:
        raise CompileError(f"{compiler}: {problem.strerror}: install a C compiler") from problem
    if done.returncode:
        raise CompileError(f"{compiler} cannot compile the client:\n{done.stderr.strip()}")
    return target


def find() -> bytes | None:
    """The content of the compiled client beside the interpreter; None if there is none of this version."""
    path = default_target()
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS)
        if done.returncode == 0 and done.stdout.decode().strip() == digest():
            return path.read_bytes()
        print(f"prefork: {path} is of another version: compile it again", file=sys.stderr)
    return None
