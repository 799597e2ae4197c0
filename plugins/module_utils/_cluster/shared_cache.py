# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Answers about the cluster as a whole, which hold for a while and for all passes.

What nodes the cluster has decides what some pods look like. It is the same for thousands of passes,
and a list of nodes costs as much as all reads of children together. Passes are processes of their
own, so the answers are in files of a folder that the supervisor makes for one life of the operator.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
import typing as t
from pathlib import Path

from .._engine.reads import Read

FOLDER_VARIABLE = "NIMOPS_SHARED_ANSWERS"
SECONDS = 600
"""How long an answer holds."""
_SETTLED = 5
"""Seconds after which a fact holds for what was written meanwhile: a pass takes less."""
_LIMIT = 1 << 16


def shared_fact(name: str, ask: t.Callable[[], bool]) -> bool:
    """Whether something has been so for some seconds; it then stays so while the runtime runs.

    A child that was written while the runtime began to watch its kind may have changed before that:
    the runtime takes what it lists at first for no change.
    """
    folder = os.environ.get(FOLDER_VARIABLE, "")
    if not folder:
        return ask()
    file = _file(folder, name)
    with contextlib.suppress(OSError):
        return time.time() - file.stat().st_mtime >= _SETTLED
    if ask():
        with contextlib.suppress(OSError):
            _keep(file, "true")
    return False


def shared_answer(read: Read, ask: t.Callable[[Read], t.Any]) -> t.Any:
    """The answer that an earlier pass was given, or a new one; kept if it holds for all passes."""
    folder = os.environ.get(FOLDER_VARIABLE, "")
    if not read.is_lasting or not folder:
        return ask(read)
    file = _file(folder, read.key)
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if 0 <= time.time() - file.stat().st_mtime < SECONDS:
            return json.loads(file.read_bytes()[:_LIMIT])
    answer = ask(read)
    with contextlib.suppress(OSError):
        _keep(file, json.dumps(answer))
    return answer


def _file(folder: str, key: str) -> Path:
    return Path(folder, hashlib.sha256(key.encode()).hexdigest())


def _keep(file: Path, text: str) -> None:
    """Replace a file as a whole; only this user may read it."""
    handle, fresh = tempfile.mkstemp(prefix=".", dir=file.parent)
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        Path(fresh).replace(file)
    except OSError:
        Path(fresh).unlink(missing_ok=True)
        raise
