# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Images on the registry of the tests."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

PASSWORD = "not-to-be-seen-7c1f"

Run = Callable[..., subprocess.CompletedProcess[str]]


def push(run: Run, name: str, folder: Path, content: str) -> None:
    """Push an image of one file."""
    (folder / "file").write_text(content)
    push_files(run, name, folder, {"file": folder / "file"})


def push_files(run: Run, name: str, folder: Path, files: dict[str, Path]) -> None:
    """Push an image of these files, by their paths in it."""
    with tarfile.open(folder / "layer.tar", "w") as archive:
        for path, file in files.items():
            archive.add(file, path)
    layer = str(folder / "layer.tar")
    done = run("crane", "append", "--oci-empty-base", f"--new_layer={layer}", f"--new_tag={name}")
    assert done.returncode == 0, done.stderr
