# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The environment variables that choose an instance, read in one place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import SetupError
from .ports import LARGEST_BLOCK, NEIGHBORS

SANDBOX = Path(__file__).resolve().parent.parent
REPOSITORY = SANDBOX.parent


@dataclass(frozen=True)
class Settings:
    """The settings from the environment.

    directory: of the instance. port: of its API server, None for any. manifest: content of pods'
    logs, None to keep it. cache: of built programs. found: folders with programs to use instead of
    built ones; the first match counts. kubernetes: the release, such as 1.30; empty for the
    default. neighbors: the controllers of other projects to run besides those that it runs.
    """

    directory: Path
    port: int | None
    manifest: Path | None
    cache: Path
    found: tuple[Path, ...]
    kubernetes: str = ""
    neighbors: tuple[str, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read them; empty counts as unset. SetupError for an invalid port or manifest."""
        home = Path(environ.get("HOME") or Path.home())
        port = _read_port(environ.get("SANDBOX_PORT", ""))
        name = f"port-{port}" if port else "default"
        state = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")
        cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
        return cls(
            directory=_absolute(environ.get("SANDBOX_DIR") or state / "nimops-sandbox" / name),
            port=port,
            manifest=_read_manifest(environ.get("SANDBOX_MANIFEST", "")),
            cache=_absolute(environ.get("SANDBOX_CACHE") or cache / "nimops-sandbox"),
            found=_read_found(environ),
            kubernetes=_read_kubernetes(environ.get("SANDBOX_KUBERNETES", "")),
            neighbors=_read_neighbors(environ.get("SANDBOX_WITH", "")),
        )


def _absolute(path: str | Path) -> Path:
    return Path(os.path.abspath(path))


def _read_port(text: str) -> int | None:
    if not text:
        return None
    highest = 65535 - LARGEST_BLOCK + 1
    if not text.isdecimal() or not 1024 <= int(text) <= highest:
        raise SetupError(f"SANDBOX_PORT={text}: must be a number from 1024 to {highest}")
    return int(text)


def _read_manifest(text: str) -> Path | None:
    if not text:
        return None
    path = _absolute(text)
    if not path.is_file():
        raise SetupError(f"SANDBOX_MANIFEST={text}: no such file")
    return path


def _read_kubernetes(text: str) -> str:
    known = sorted(path.name.partition("-")[2] for path in (SANDBOX / "tools").glob("kubernetes-*"))
    if text and text not in known:
        raise SetupError(f"SANDBOX_KUBERNETES={text}: must be empty or one of {', '.join(known)}")
    return text


def _read_neighbors(text: str) -> tuple[str, ...]:
    """Return the names of a list separated by blanks or commas, in the order of their ports."""
    words = text.replace(",", " ").split()
    for word in words:
        if word not in NEIGHBORS:
            raise SetupError(f"SANDBOX_WITH={text}: {word} is not one of {', '.join(NEIGHBORS)}")
    return tuple(name for name in NEIGHBORS if name in words)


def _read_found(environ: Mapping[str, str]) -> tuple[Path, ...]:
    folders = [environ.get("KUBEBUILDER_ASSETS", "")]
    if environ.get("SANDBOX_USE_PATH", "") not in ("", "0", "false"):
        folders += environ.get("PATH", "").split(os.pathsep)
    return tuple(_absolute(folder) for folder in folders if folder)
