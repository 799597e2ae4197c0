# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Create and remove the temporary directory of a task without a shell.

For an action plugin that may transfer files, ansible-core creates the directory beforehand, even if its module is
pipelined: three shells and ten processes for a few system calls. This module only executes the exact text that
ansible-core's shell plugin ``sh`` writes, and only for names that need no quoting. If that fails, the shell executes
the command and reports the error.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shlex
import shutil
from typing import Any

from ansible_prefork import client

PATH = r"/[\w./-]*"
HOME = re.compile(r"echo ~(?P<user>[\w-]*) && sleep 0", re.ASCII)
MAKE = re.compile(
    rf'\( umask 77 && mkdir -p "` echo (?P<base>{PATH}) `"&& mkdir "` echo (?P<path>{PATH}) `"'
    r' && echo (?P<name>[\w.-]+)="` echo (?P=path) `" \) && sleep 0',
    re.ASCII,
)
REMOVE = re.compile(rf"rm -f -r (?P<path>{PATH}/ansible-tmp-[\w.-]+)/ > /dev/null 2>&1 && sleep 0", re.ASCII)
OWNER_BITS = 0o700


def answer(command: Any) -> str | None:
    """Execute a command; its output, or None for a command that needs a shell.

    ``command``: ``/bin/sh -c '…'``, as the connection plugin passes it to subprocess.Popen.
    """
    try:
        words = shlex.split(os.fsdecode(command))
    except (TypeError, ValueError):
        return None
    if len(words) != 3 or words[:2] != ["/bin/sh", "-c"]:
        return None
    for pattern, do in ((HOME, _show_home), (MAKE, _make_directory), (REMOVE, _remove_directory)):
        found = pattern.fullmatch(words[2])
        if found:
            with contextlib.suppress(OSError):
                return do(found)
    return None


def _show_home(found: re.Match[str]) -> str | None:
    home = os.environ.get("HOME", "")
    if found["user"]:
        try:
            home = pwd.getpwnam(found["user"]).pw_dir
        except KeyError:
            return None
    return f"{home}\n" if re.fullmatch(PATH, home, re.ASCII) else None


def _make_directory(found: re.Match[str]) -> str | None:
    base, path, name = found["base"], found["path"], found["name"]
    if path != f"{base}/{name}" or client.get_umask() & OWNER_BITS:
        return None
    missing = []
    while not os.path.isdir(base):
        missing.append(base)
        base = os.path.dirname(base)
    for directory in (*reversed(missing), path):
        # If another run creates the parent directories at the same time, this fails and the shell does the rest.
        os.mkdir(directory, OWNER_BITS)
    return f"{name}={path}\n"


def _remove_directory(found: re.Match[str]) -> str | None:
    path = found["path"]
    if os.path.islink(path):
        return None
    if os.path.lexists(path):
        shutil.rmtree(path)
    return ""


class AnsweredPopen:
    """The part of subprocess.Popen that the connection plugin uses, for a command that was already executed."""

    returncode = 0

    def __init__(self, output: str) -> None:
        self.output = os.fsencode(output)

    def communicate(self, _data: bytes | None = None) -> tuple[bytes, bytes]:
        return self.output, b""
