# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The wheel of kubectl-nim, which contains the collection."""

from __future__ import annotations

import io
import shutil
import sys
import tarfile
from pathlib import Path

from .manifests import Project
from .programs import run

PACKAGE = "packages/kubectl-nim"


def write_wheel(project: Project, output: Path, collection: bytes, epoch: int) -> None:
    """Write the wheel, from a copy of the package with the collection's tarball unpacked in it."""
    copy = project.root / "build/kubectl-nim"
    shutil.rmtree(copy, ignore_errors=True)
    ignored = shutil.ignore_patterns("tests", "build", "*.egg-info", "__pycache__")
    shutil.copytree(project.root / PACKAGE, copy, ignore=ignored)
    folder = copy / "src/ansible_collections/nimops/nim"
    with tarfile.open(fileobj=io.BytesIO(collection)) as archive:
        # Extraction filters require Python 3.11.4; the archive is ours.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    run(
        [*command, "--no-deps", "--wheel-dir", str(output), str(copy)],
        project.root,
        {"SOURCE_DATE_EPOCH": str(epoch)},
    )
