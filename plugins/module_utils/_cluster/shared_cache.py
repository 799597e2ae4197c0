# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A cache of answers about the whole cluster, which all passes share for a while.

The content of some pods depends on the nodes of the cluster. Nodes rarely change, and a list of
nodes costs as much as all reads of children together. Each pass is a process, so the answers are in
files, in a folder that the supervisor creates at each start of the operator.
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
"""Lifetime of an answer."""
_SETTLED = 5
"""Seconds after which a fact is returned; longer than a pass takes."""
_LIMIT = 1 << 16


def shared_fact(name: str, ask: t.Callable[[], bool]) -> bool:
    """Whether a fact has been true for some seconds; it then stays true while the runtime runs.

    A child that was written while the runtime began to watch its kind may have changed before: the
    runtime does not treat the first list as changes.
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
    """The cached answer of an earlier pass, or a new one, cached if the read is lasting."""
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
    """Replace a file atomically; only this user may read it."""
    handle, fresh = tempfile.mkstemp(prefix=".", dir=file.parent)
    try:
        with os.fdopen(handle, "w") as stream:
            stream.write(text)
        Path(fresh).replace(file)
    except OSError:
        Path(fresh).unlink(missing_ok=True)
        raise
