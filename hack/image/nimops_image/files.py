# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The files that the Dockerfile installs: wheels, collections, nimops-apiproxy and a script."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from nimops_release.archives import repack_collection
from nimops_sandbox.gocache import GoCache
from nimops_sandbox.settings import REPOSITORY, Settings

from .apiproxy import PROGRAM, build_apiproxy
from .commands import Notify, run

FOLDER = REPOSITORY / "build/image"
_SCRIPT = Path(__file__).resolve().parent.parent / "install.sh"
_LOCK = REPOSITORY / "requirements/image.txt"
_PACKAGES = ("packages/ansible-prefork", "packages/nimops-supervisor")
_UNPACKAGED = ("MANIFEST.json", "FILES.json")


def write_files(
    version: str, pythons: Iterable[str], machine: str, epoch: int, notify: Notify
) -> Path:
    """Fill build/image for bases of these Pythons and this architecture; return it."""
    cache = GoCache(Settings.from_environ(os.environ).cache, notify)
    program = build_apiproxy(cache, version, machine)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    shutil.copy(_SCRIPT, FOLDER)
    shutil.copy(program, FOLDER / PROGRAM)
    notify("building wheels")
    _write_wheels(pythons, machine, epoch)
    write_client(FOLDER, machine, notify)
    notify("packing kubernetes.core")
    target = FOLDER / "collections"
    target.mkdir()
    (ours,) = (REPOSITORY / "build").glob("nimops-nim-*.tar.gz")
    shutil.copy(ours, target)
    pack_collection(find_collection("kubernetes", "core"), target)
    for tarball in target.iterdir():
        tarball.write_bytes(repack_collection(tarball.read_bytes(), epoch))
    return FOLDER


def find_collection(namespace: str, name: str) -> Path:
    """The folder of a collection of the package `ansible`, beside this interpreter."""
    return Path(sysconfig.get_path("purelib"), "ansible_collections", namespace, name)


def galaxy_metadata(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the galaxy.yml of an installed collection, from its MANIFEST.json."""
    return {key: value for key, value in manifest["collection_info"].items() if value}


def pack_collection(source: Path, target: Path) -> None:
    """Write an installed collection as a tarball: PyPI has the collection, but not its tarball."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, "collection")
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns(*_UNPACKAGED, "__pycache__"))
        manifest = json.loads((source / "MANIFEST.json").read_text())
        (copy / "galaxy.yml").write_text(yaml.safe_dump(galaxy_metadata(manifest)))
        program = Path(sys.executable).with_name("ansible-galaxy")
        run([program, "collection", "build", copy, "--output-path", target])


def write_client(folder: Path, machine: str, notify: Notify) -> None:
    """Compile the client of prefork if there is a compiler; the image also works without it."""
    compiler = "cc" if machine == platform.machine() else f"{machine}-linux-gnu-gcc"
    if shutil.which(compiler) is None:
        notify(f"there is no {compiler}: prefork's client is the one in Python")
        return
    target = folder / "ansible-prefork-client"
    run([sys.executable, "-m", "ansible_prefork", "compile", target, f"--compiler={compiler}"])


def _write_wheels(pythons: Iterable[str], machine: str, epoch: int) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    wheels, tools = FOLDER / "wheels", FOLDER / "tools"
    sources: Sequence[Path] = [REPOSITORY / name for name in _PACKAGES]
    build = ["wheel", "--quiet", "--no-deps", f"--wheel-dir={wheels}"]
    run([*pip, *build, *sources], SOURCE_DATE_EPOCH=str(epoch))
    download = ["download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:"]
    for version in pythons:
        target = [f"--python-version={version}", f"--platform=manylinux_2_28_{machine}"]
        run([*pip, *download, *target, f"--dest={wheels}", f"--requirement={_LOCK}"])
    tools.mkdir()
    for wheel in wheels.glob("installer-*.whl"):
        wheel.rename(tools / wheel.name)
