# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Files of a folder that changes meanwhile."""

from __future__ import annotations

import os
from pathlib import Path


def list_paths(folder: Path) -> list[str]:
    """Relative paths of all files, sockets and links, and with a slash of empty folders."""
    found = []
    for parent, folders, files in os.walk(folder):
        place = "" if parent == str(folder) else f"{os.path.relpath(parent, folder)}/"
        found += [place + name for name in files] + ([] if files or folders else [place])
    return sorted(found)
