# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Count the parts of runs that are not warm; each reason is logged once (see ``client.note_fallback``)."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_prefork import client

PLAY = "play"
MODULE = "module"

_directory = b""


def install(directory: Path) -> None:
    """Keep the counts in ``directory``, that of the parents."""
    global _directory
    _directory = os.fsencode(directory)


def note(what: str, reason: str) -> None:
    """Count a fallback. ``reason`` must contain no data of a run: no argument, no value of a variable."""
    if _directory:
        client.note_fallback(_directory, what, reason, dict(os.environb))
