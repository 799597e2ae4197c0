# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The target architecture of an image, and whether this machine can build for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from nimops_sandbox.errors import SetupError

PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}
_SYNONYMS = {"amd64": "x86_64", "arm64": "aarch64"}
_BINFMT = Path("/proc/sys/fs/binfmt_misc")


def read_architecture(environ: Mapping[str, str], machine: str) -> str:
    """Return the architecture in IMAGE_ARCH, by default the machine's, as `uname -m` spells it."""
    wanted = environ.get("IMAGE_ARCH") or machine
    name = _SYNONYMS.get(wanted, wanted)
    if name not in PLATFORMS:
        raise SetupError(f"IMAGE_ARCH={wanted}: must be x86_64 (amd64) or aarch64 (arm64)")
    return name


def require_architecture(wanted: str, machine: str, folder: Path = _BINFMT) -> None:
    """Raise SetupError unless this machine runs programs of that architecture.

    `folder`: the kernel's list of emulators.
    """
    if wanted != machine and not _emulates(folder / f"qemu-{wanted}"):
        raise SetupError(
            f"IMAGE_ARCH={wanted}: this machine is {machine}, and runs no programs of {wanted}:"
            " build on such a machine, or register an emulator"
            " (Debian: apt-get install qemu-user-static binfmt-support)"
        )


def _emulates(entry: Path) -> bool:
    """Whether an emulator is enabled and opened beforehand (F), because the image lacks it."""
    lines = entry.read_text().splitlines() if entry.is_file() else []
    flags = next((line for line in lines if line.startswith("flags:")), "")
    return "enabled" in lines and "F" in flags.removeprefix("flags:")
