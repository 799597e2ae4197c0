# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The requirements of a real node: root, and programs from Debian packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import SandboxError, UnsupportedError

_PACKAGES = {
    "buildah": "buildah",
    "containerd": "containerd",
    "ctr": "containerd",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "runc": "runc",
}
_PLUGINS = ("host-local", "loopback", "ptp")
_PLUGIN_PACKAGE = "containernetworking-plugins"
# Debian's folder, and the default folder.
_PLUGIN_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def find_plugins(folders: tuple[Path, ...] = _PLUGIN_FOLDERS) -> Path | None:
    """Return the first folder with the CNI plugins that a node needs."""
    for folder in folders:
        if all((folder / name).is_file() for name in _PLUGINS):
            return folder
    return None


def plugins() -> Path:
    folder = find_plugins()
    if folder is None:
        raise UnsupportedError(f"a real node needs the CNI plugins {', '.join(_PLUGINS)}")
    return folder


def missing() -> dict[str, str]:
    """Return the missing programs, each with its Debian package."""
    return dict(_missing())


def _missing() -> Iterator[tuple[str, str]]:
    for program, package in _PACKAGES.items():
        if shutil.which(program) is None:
            yield program, package
    if find_plugins() is None:
        yield "CNI plugins", _PLUGIN_PACKAGE


def require(lacking: dict[str, str], uid: int) -> None:
    """Raise UnsupportedError with the missing requirements, if there are any."""
    said = []
    if uid != 0:
        said.append("root")
    if lacking:
        said.append(f"{', '.join(lacking)} (Debian: apt-get install {_join(lacking)})")
    if said:
        raise UnsupportedError(f"a real node needs {' and '.join(said)}")


def install(lacking: dict[str, str], uid: int, notify: Callable[[str], None]) -> None:
    """Install the missing packages. UnsupportedError if that is not possible here."""
    if not lacking:
        return
    if uid != 0 or shutil.which("apt-get") is None:
        require(lacking, uid)
    notify(f"installing the Debian packages {_join(lacking)}")
    _apt_get("update")
    _apt_get("install", "--yes", "--no-install-recommends", *sorted(set(lacking.values())))


def _join(lacking: dict[str, str]) -> str:
    return " ".join(sorted(set(lacking.values())))


def _apt_get(*arguments: str) -> None:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise SandboxError(f"{' '.join(command)} failed:\n{last}")
