# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A terminal of a new user: bash with a home folder of its own, which runs one command at a time."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import subprocess
import typing as t
from dataclasses import dataclass
from pathlib import Path

import psutil
from nimops_harness.errors import HarnessError

KEPT = ("PIP_", "UV_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy", "LANG")
"""The variables that reach a package registry; all others are those of a new user."""


@dataclass(frozen=True)
class Done:
    """The output of a command, and its exit code."""

    output: str
    errors: str
    code: int


def make_places(folder: Path) -> tuple[Path, Path]:
    """An empty home folder and an empty folder to work in."""
    home, work = folder / "home", folder / "work"
    for place in (home, work):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
    return home, work


class Terminal:
    """One session: variables, the folder and jobs of a command remain for the next one."""

    def __init__(self, home: Path, work: Path, path: str, **variables: str) -> None:
        self._files = home.with_name("output"), home.with_name("errors")
        kept = {key: text for key, text in os.environ.items() if key.startswith(KEPT)}
        ours, theirs = os.pipe()
        self._statuses = os.fdopen(ours)
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=work, stdin=subprocess.PIPE, text=True, pass_fds=[theirs],
            env={**kept, "HOME": str(home), "PATH": path, **variables},
        )  # fmt: skip
        os.close(theirs)
        self._status = theirs
        self._send("set -o pipefail")

    def run(self, command: str, seconds: float = 600.0, together: bool = False) -> Done:
        """Run a command to its end; HarnessError if it takes longer or ends the session.

        together: the output has the errors as well, in the order in which they appear.
        """
        output, errors = (shlex.quote(str(file)) for file in self._files)
        to = "2>&1" if together else f"2>{errors}"
        self._send(
            f"eval {shlex.quote(command)} </dev/null >{output} {to} {self._status}>&-; "
            f"echo $? >&{self._status}"
        )
        if not select.select([self._statuses], [], [], seconds)[0]:
            raise HarnessError(f"{command}: not within {seconds:g} s\n{self._read(0)}")
        if not (line := self._statuses.readline()):
            raise HarnessError(f"{command}: the shell has ended\n{self._read(0)}")
        return Done(self._read(0), "" if together else self._read(1), int(line))

    def close(self) -> None:
        """End the session and its jobs."""
        with contextlib.suppress(OSError):
            self._send("kill $(jobs -p) 2>/dev/null; exit")
        try:
            self._bash.wait(10)
        except subprocess.TimeoutExpired:
            for process in [self._bash, *self.jobs()]:
                process.kill()
            self._bash.wait()
        self._statuses.close()

    def jobs(self) -> list[psutil.Process]:
        """The processes of its commands."""
        return list(psutil.Process(self._bash.pid).children(recursive=True))

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, line: str) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.write(f"{line}\n")
        self._bash.stdin.flush()

    def _read(self, number: int) -> str:
        file = self._files[number]
        return file.read_text(errors="replace") if file.exists() else ""
