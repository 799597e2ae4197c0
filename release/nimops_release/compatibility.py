# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that resources stored under the last release's CRDs are valid under today's CRDs."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .errors import ReleaseError
from .manifests import Project
from .programs import find_program

BASES = "config/crd/bases"
CHECKS = Path(__file__).resolve().parents[1] / "crdify.yaml"
# A tag is a Galaxy version, with or without a leading v.
_RELEASE = re.compile(r"v?\d+\.\d+\.\d+$")


def last_release(root: Path) -> str | None:
    """Return the newest release tag among the ancestors of this commit."""
    tags = _git(root, "tag", "--merged", "HEAD", "--sort=-version:refname").splitlines()
    return next((tag for tag in tags if _RELEASE.match(tag)), None)


def read_definitions(root: Path, ref: str) -> dict[str, str]:
    """Return the CRDs of a commit, by file name."""
    names = _git(root, "ls-tree", "--name-only", ref, f"{BASES}/").split()
    return {Path(name).name: _git(root, "show", f"{ref}:{name}") for name in names}


def compare(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the incompatibilities, one message per CRD."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in old.items():
            if name not in new:
                found.append(f"{name}: was removed, and with it all resources of its kind")
                continue
            sides = (Path(folder, "old.yaml"), Path(folder, "new.yaml"))
            sides[0].write_text(text)
            sides[1].write_text(new[name])
            urls = (f"file://{side}" for side in sides)
            command = [str(find_program("crdify")), f"--config={CHECKS}", *urls]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                found.append(f"{name}:\n{(done.stdout + done.stderr).strip()}")
    return found


def check_definitions(project: Project, since: str | None) -> str:
    """Compare with a commit, by default the last release; return a summary.

    Raises ReleaseError with the incompatibilities.
    """
    ref = since or last_release(project.root)
    if ref is None:
        return "no release yet: there is nothing to be compatible with"
    folder = project.root / BASES
    new = {file.name: file.read_text() for file in sorted(folder.glob("*.yaml"))}
    if found := compare(read_definitions(project.root, ref), new):
        raise ReleaseError(f"the CRDs are incompatible with {ref}:\n" + "\n".join(found))
    return f"the CRDs are compatible with {ref}"


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"git {' '.join(arguments)} failed: {done.stderr.strip()}")
    return done.stdout
