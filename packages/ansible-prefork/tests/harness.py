# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Clients and parents of one test, with a program that needs no Ansible."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ansible_prefork.__main__ import install_clients

FAKE = Path(__file__).with_name("fake")
STOCK = f"#!{sys.executable}\nimport sys\nexec(compile(sys.argv[1], '<stock>', 'exec'))\n"


def wait_for(what: Callable[[], Any], seconds: float = 20.0) -> Any:
    """The first true result; AssertionError if there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return not re.search(r"^State:\s+Z", status, re.MULTILINE)


def children(pid: int) -> dict[int, str]:
    """The children of a process and the letter of their state."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    found[int(entry)] = fields[0]
    return found


def open_files(pid: int) -> list[str]:
    """The targets of the descriptors of a process, without the numbers of sockets and anonymous files.

    It waits until two reads agree, because descriptors of an ended client are closed a moment later.
    """
    found = None
    while found != (now := _open_files(pid)):
        found = now
        time.sleep(0.3)
    return now


def _open_files(pid: int) -> list[str]:
    found = []
    for entry in os.scandir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            found.append(re.sub(r":\[\d+\]|#\d+", "", os.readlink(entry.path)))
    return sorted(found)


def age(path: Path, seconds: float) -> float:
    """Set the modification time of a file to ``seconds`` ago; that time."""
    then = time.time() - seconds
    os.utime(path, (then, then))
    return then


class Site:
    """Clients in ``bin``, a stock program in ``stock``, sockets in ``r``; short, because socket paths are limited."""

    def __init__(self, root: Path, fake: bool = True, program: bytes | None = None) -> None:
        self.root = root
        self.directory = root / "r"
        self.temporary = root / "t"
        self.home = root / "h"
        for path in (self.temporary, self.home):
            path.mkdir()
        self.directory.mkdir(mode=0o700)
        install_clients(root / "bin", program)
        self.environment = {
            "PATH": f"{root / 'bin'}:{root / 'stock'}:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PREFORK_DIR": str(self.directory),
            "LANG": "C.UTF-8",
        }
        if fake:
            (root / "stock").mkdir()
            stock = root / "stock" / "ansible-playbook"
            stock.write_text(STOCK)
            stock.chmod(0o755)
            self.environment["PYTHONPATH"] = str(FAKE)
        self.client = str(root / "bin" / "ansible-playbook")

    def start(self, *arguments: object, client: str = "", **options: Any) -> subprocess.Popen[str]:
        """A client of this site; ``env`` is added to the environment."""
        environment = {**self.environment, **options.pop("env", {})}
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "cwd": self.root,
            **options,
        }
        return subprocess.Popen([client or self.client, *arguments], env=environment, **options)

    def run(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=90)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def answer(self, code: str, *arguments: object, **options: Any) -> str:
        """The output of a successful run."""
        done = self.run(code, *arguments, **options)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()

    def parent(
        self, *options: object, env: dict[str, str] | None = None, program: str = "ansible-playbook", wait: bool = True
    ) -> subprocess.Popen[str]:
        """A parent in the foreground, listening when this returns; what it writes goes to ``parent.log``."""
        command = [sys.executable, "-m", "ansible_prefork", "parent", "--program", program]
        with (self.directory / "parent.log").open("a") as log:
            started = subprocess.Popen(
                [*command, *map(str, options)],
                env={**self.environment, **(env or {})},
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                text=True,
            )
        if wait:
            wait_for(lambda: self.sockets() or started.poll() is not None)
        return started

    def sockets(self) -> list[Path]:
        return sorted(self.directory.glob("*.sock"))

    def log(self) -> str:
        path = self.directory / "parent.log"
        return path.read_text() if path.exists() else ""

    def processes(self) -> list[int]:
        """The processes with this site's directory in their environment, including children of the test."""
        mark = f"PREFORK_DIR={self.directory}\0".encode()
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and int(entry) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in Path(f"/proc/{entry}/environ").read_bytes():
                        found.append(int(entry))
        return found

    def close(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + 3
            for pid in self.processes():
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
            while time.monotonic() < deadline and any(map(is_running, self.processes())):
                time.sleep(0.02)
        shutil.rmtree(self.root, ignore_errors=True)


@contextlib.contextmanager
def make_site(fake: bool = True, program: bytes | None = None) -> Iterator[Site]:
    # The temporary directory of the tests may be too long for the path of a socket.
    site = Site(Path(tempfile.mkdtemp(prefix="pf_", dir="/tmp")), fake, program)
    try:
        yield site
    finally:
        site.close()
