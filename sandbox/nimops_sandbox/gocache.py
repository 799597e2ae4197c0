# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Results of the go command, in folders that instances share, each named after its inputs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from .errors import SandboxError, SetupError
from .locks import locked

_LOCKS = ("go.mod", "go.sum", "requirements.txt")
_REPORT_EVERY = 15.0
_LAST_LINES = 15


class GoCache:
    """`root` contains the folders. `notify` gets progress, line by line."""

    def __init__(self, root: Path, notify: Callable[[str], None]) -> None:
        self.root = root
        self.notify = notify
        self._compiler = ""

    def provide(self, source: Path, recipe: str, make: Callable[[Path], None]) -> Path:
        """Return the folder that `make` has filled.

        It is called only if there is no result for this module's files, recipe and compiler, and
        by one command at a time. Raises SetupError if there is no Go.
        """
        self._compiler = self._compiler or read_compiler()
        folder = self.root / f"{source.name}-{cache_key(source, recipe, self._compiler)}"
        if folder.is_dir():
            return folder
        self.root.mkdir(parents=True, exist_ok=True)
        lock = self.root / f".{source.name}.lock"
        with locked(
            lock, lambda: self.notify(f"waiting for another command that builds {source.name}")
        ):
            if not folder.is_dir():
                self._make(folder, make)
        return folder

    def _make(self, folder: Path, make: Callable[[Path], None]) -> None:
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self.root) as scratch:
            result = Path(scratch, "result")
            result.mkdir()
            make(result)
            result.rename(folder)

    def run(self, command: list[str], source: Path, doing: str, **extra: str) -> str:
        """Run a go command in a module, report the elapsed time regularly, return its output.

        `extra` is for its environment.
        """
        environ = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", **extra}
        started = time.monotonic()
        self.notify(doing)
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            child = subprocess.Popen(command, cwd=source, env=environ, stdout=output, stderr=errors)
            try:
                while _is_running(child):
                    self.notify(f"{doing}: {time.monotonic() - started:.0f} s")
            finally:
                child.terminate()
                child.wait()
            errors.seek(0)
            if child.returncode:
                last = "".join(errors.readlines()[-_LAST_LINES:]).rstrip()
                raise SandboxError(f"{doing}: {' '.join(command[:3])} in {source} failed:\n{last}")
            output.seek(0)
            self.notify(f"{doing}: done in {time.monotonic() - started:.0f} s")
            return output.read()


def read_compiler() -> str:
    """Return Go's version and target."""
    if shutil.which("go") is None:
        raise SetupError(
            "Go was not found on PATH: install Go 1.26 or later (https://go.dev/dl/) and put its "
            "bin folder on PATH"
        )
    command = ["go", "env", "GOVERSION", "GOOS", "GOARCH"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise SetupError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return "/".join(done.stdout.split())


def cache_key(source: Path, recipe: str, compiler: str) -> str:
    """Return a key that changes with a module's sources and locks, the recipe and the compiler."""
    digest = hashlib.sha256(f"{recipe}\n{compiler}\n".encode())
    for path in sorted(source.rglob("*")):
        if path.name in _LOCKS or path.suffix == ".go":
            content = path.read_bytes()
            name = path.relative_to(source).as_posix()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _is_running(child: subprocess.Popen[bytes]) -> bool:
    try:
        child.wait(_REPORT_EVERY)
    except subprocess.TimeoutExpired:
        return True
    return False
