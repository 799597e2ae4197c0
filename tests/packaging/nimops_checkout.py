# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Clones of this checkout, with commits of their own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from nimops_harness.runtime import ROOT


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, and return its output."""
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def commit(folder: Path) -> None:
    """Commit all changes."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")


def clone(folder: Path, without: tuple[str, ...] = ()) -> Path:
    """Copy the checkout, including untracked files, and commit it; ``without``: path prefixes."""
    files = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z").split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file() and not name.startswith(without):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder
