# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The images of a node, which are loaded, because nothing can be pulled."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from ..errors import SandboxError, SetupError
from ..gocache import GoCache
from ..settings import SANDBOX
from . import config

_CONTAINERFILE = """\
FROM scratch
COPY pause /pause
USER 65535:65535
ENTRYPOINT ["/pause"]
"""
_ARCHIVE = "pause.tar"


def provide_pause(cache: GoCache, program: Path) -> Path:
    """Return the archive of an image with only this program."""

    def make(result: Path) -> None:
        cache.notify("building the pause image")
        (result / "pause").write_bytes(program.read_bytes())
        (result / "pause").chmod(0o755)
        (result / "Containerfile").write_text(_CONTAINERFILE)
        build(result, config.PAUSE, result / _ARCHIVE)

    recipe = f"{program.parent.name} {config.PAUSE} {_CONTAINERFILE}"
    return cache.provide(SANDBOX / "tools/node", recipe, make) / _ARCHIVE


def build(context: Path, name: str, archive: Path) -> None:
    """Build the folder's Containerfile without a container engine, into a new image archive."""
    with tempfile.TemporaryDirectory(prefix="nimops-image-") as scratch:
        buildah = ["buildah", f"--root={scratch}/root", f"--runroot={scratch}/run"]
        buildah += ["--storage-driver=vfs"]
        bud = ["bud", "--isolation=chroot", "--tag", name, "--file", str(context / "Containerfile")]
        _run([*buildah, *bud, str(context)])
        _run([*buildah, "push", name, f"docker-archive:{archive}:{name}"])


def load(archive: Path, prefix: Sequence[str] = ()) -> str:
    """Import the images of a Docker or OCI archive; return ctr's output.

    prefix: of the command, if our process does not see the node's mounts.
    """
    if not archive.is_file():
        raise SetupError(f"{archive}: no such file")
    ctr = ["ctr", f"--address={config.SOCKET}", "--namespace=k8s.io", "images", "import", "-"]
    with archive.open("rb") as content:
        return _run([*prefix, *ctr], content)


def _run(command: list[str], stdin: IO[bytes] | int = subprocess.DEVNULL) -> str:
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise SandboxError(f"{' '.join(command)} failed:\n{last}")
    return done.stdout
