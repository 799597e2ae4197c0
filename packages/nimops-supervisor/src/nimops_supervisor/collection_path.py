# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The import path of the collection, for the separate programs that use its client."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_DEFAULT = "~/.ansible/collections:/usr/share/ansible/collections"


def add_to_path() -> None:
    """Make importable what Ansible finds as collections."""
    given = os.environ.get("ANSIBLE_COLLECTIONS_PATH") or _DEFAULT
    sys.path += [str(Path(item).expanduser()) for item in given.split(os.pathsep) if item]
