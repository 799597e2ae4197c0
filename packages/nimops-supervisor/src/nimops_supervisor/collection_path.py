# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Where the separate programs find the collection, whose client they use."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_DEFAULT = "~/.ansible/collections:/usr/share/ansible/collections"


def add_to_path() -> None:
    """Make the collections that Ansible finds importable."""
    given = os.environ.get("ANSIBLE_COLLECTIONS_PATH") or _DEFAULT
    sys.path += [str(Path(item).expanduser()) for item in given.split(os.pathsep) if item]
