# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The time of a release: the same tree gives the same bytes."""

from __future__ import annotations

import os
import time
from pathlib import Path

from .errors import SetupError
from .programs import run


def read_epoch(root: Path) -> int:
    """Return SOURCE_DATE_EPOCH; by default, the time of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given and not given.isdecimal():
        raise SetupError(f"SOURCE_DATE_EPOCH={given}: must be a number of seconds")
    return int(given or run(["git", "log", "-1", "--format=%ct"], root))


def format_epoch(epoch: int) -> str:
    """Return a time in RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
