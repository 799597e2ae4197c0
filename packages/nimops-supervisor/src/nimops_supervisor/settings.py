# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of a run, from the environment."""

from __future__ import annotations

import math
import os

RUN_SECONDS = ("NIMOPS_RUN_SECONDS", 300)
RUN_MEMORY_MIB = ("NIMOPS_RUN_MEMORY_MIB", 512)
GRACE_SECONDS = 15
"""How much later than ansible-runner's own limit its process is killed."""
_LOST_MARGIN = 60


class SettingsError(Exception):
    """An invalid setting; the message names it."""


def run_seconds() -> int:
    """Seconds that a run may take, 0 for no limit; SettingsError."""
    return _whole_number(*RUN_SECONDS)


def lost_seconds() -> float:
    """Age at which nothing of a run can be in use any more; infinite if runs have no limit."""
    seconds = run_seconds()
    return seconds + _LOST_MARGIN if seconds else math.inf


def run_mebibytes() -> int:
    """MiB of data that each process of a run may have, 0 for no limit; SettingsError."""
    return _whole_number(*RUN_MEMORY_MIB)


def _whole_number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise SettingsError(f"{name}={text!r}: must be a whole number; 0 means no limit")
    return int(text)
