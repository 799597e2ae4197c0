# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of a run, read from the environment."""

from __future__ import annotations

import math
import os

RUN_SECONDS = ("NIMOPS_RUN_SECONDS", 300)
RUN_MEMORY_MIB = ("NIMOPS_RUN_MEMORY_MIB", 512)
GRACE_SECONDS = 15
"""Time between ansible-runner's own limit and the kill of its process."""
_LOST_MARGIN = 60


class SettingsError(Exception):
    """An invalid setting; the message names it."""


def run_seconds() -> int:
    """Time limit of a run in seconds, 0 for no limit; SettingsError."""
    return _whole_number(*RUN_SECONDS)


def lost_seconds() -> float:
    """Age at which no file of a run can be in use any more; infinite if runs have no limit."""
    seconds = run_seconds()
    return seconds + _LOST_MARGIN if seconds else math.inf


def run_mebibytes() -> int:
    """Memory limit of each process of a run in MiB, 0 for no limit; SettingsError."""
    return _whole_number(*RUN_MEMORY_MIB)


def _whole_number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise SettingsError(f"{name}={text!r}: must be a whole number; 0 means no limit")
    return int(text)
