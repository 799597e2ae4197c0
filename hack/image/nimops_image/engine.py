# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The program that builds images: docker or podman if their engine answers, else buildah."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nimops_sandbox.errors import SandboxError, SetupError

from .commands import require, run

PROGRAMS = {"buildah": "buildah"}
_ENGINES = ("docker", "podman")


@dataclass(frozen=True)
class Recipe:
    """A Dockerfile with its context and build options.

    `epoch`: the time of all files, in seconds. `platform`: empty for this machine's.
    """

    dockerfile: Path
    context: Path
    epoch: int
    arguments: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    platform: str = ""

    def options(self) -> list[str]:
        """The options for docker, podman and buildah."""
        given = [f"--build-arg={name}={value}" for name, value in self.arguments.items()]
        given += [f"--label={name}={value}" for name, value in sorted(self.labels.items())]
        given += [f"--platform={self.platform}"] if self.platform else []
        return [*given, f"--file={self.dockerfile}", str(self.context)]


class Engine:
    """docker or podman."""

    def __init__(self, *command: str) -> None:
        self._command = command

    def build(self, tag: str, recipe: Recipe) -> None:
        """Build an image and name it."""
        epoch = f"--build-arg=SOURCE_DATE_EPOCH={recipe.epoch}"
        run([*self._command, "build", f"--tag={tag}", epoch, *recipe.options()])

    def pull(self, reference: str, platform: str = "") -> str:
        """Pull an image; return the error, which is empty on success."""
        option = [f"--platform={platform}"] if platform else []
        try:
            run([*self._command, "pull", *option, reference])
        except SandboxError as error:
            return str(error)
        return ""

    def run(self, tag: str, script: str, folder: Path) -> str:
        """Run a shell script in a container of this image, with a folder as /mnt; its output."""
        return run(
            [*self._command, "run", "--rm", f"--volume={folder}:/mnt:ro", tag, "sh", "-c", script]
        )

    def load(self, archive: Path) -> None:
        """Load an image with its name."""
        run([*self._command, "load", "--input", archive])

    def save(self, tag: str, archive: Path) -> None:
        """Write an image as a new file, in the format of docker save."""
        archive.unlink(missing_ok=True)
        run([*self._command, "save", "--output", archive, tag])


class Buildah(Engine):
    """buildah without namespaces, which also works where no engine does."""

    def __init__(self, storage: Path) -> None:
        folders = [f"--root={storage / 'images'}", f"--runroot={storage / 'run'}"]
        super().__init__("buildah", *folders, "--storage-driver=vfs")

    def build(self, tag: str, recipe: Recipe) -> None:
        """Build an image and name it."""
        how = ["--isolation=chroot", "--format=oci", f"--timestamp={recipe.epoch}"]
        run([*self._command, "build", *how, f"--tag={tag}", *recipe.options()])
        run([*self._command, "rmi", "--prune", "--force"])

    def run(self, tag: str, script: str, folder: Path) -> str:
        """Run a shell script in a container of this image, with a folder as /mnt; its output."""
        container = run([*self._command, "from", "--pull-never", tag]).strip()
        try:
            how = ["run", "--isolation=chroot", f"--volume={folder}:/mnt:ro", container]
            return run([*self._command, *how, "--", "sh", "-c", script])
        finally:
            run([*self._command, "rm", container])

    def load(self, archive: Path) -> None:
        """Load an image with its name."""
        run([*self._command, "pull", "--quiet", f"docker-archive:{archive}"])

    def save(self, tag: str, archive: Path) -> None:
        """Write an image as a new file, in the format of docker save."""
        archive.unlink(missing_ok=True)
        run([*self._command, "push", "--quiet", tag, f"docker-archive:{archive}:{tag}"])


def find_program() -> str | None:
    """Return docker or podman if its engine answers, and IMAGE_ENGINE does not want buildah."""
    wanted = os.environ.get("IMAGE_ENGINE") or ""
    if wanted not in ("", *PROGRAMS):
        raise SetupError(f"IMAGE_ENGINE={wanted}: must be buildah, or empty for docker or podman")
    if wanted:
        return None
    found = (name for name in _ENGINES if shutil.which(name) and _answers(name))
    return next(found, None)


def find_engine(storage: Path) -> Engine:
    """Return an engine that works here; `storage` is for buildah. SetupError if there is none."""
    program = find_program()
    if program is not None:
        return Engine(program)
    require(PROGRAMS, "building an image without docker or podman")
    return Buildah(storage)


def _answers(program: str) -> bool:
    done = subprocess.run([program, "info"], capture_output=True, check=False)
    return done.returncode == 0
