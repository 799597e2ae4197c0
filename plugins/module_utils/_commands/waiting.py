# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Waits for a cluster: the one loop of all commands that poll."""

from __future__ import annotations

import itertools
import time
import typing as t

from .._base.errors import NimError
from .._base.printable import name_some

PAUSES = (0.5,)
_MAX_SHOWN = 5


def poll(seconds: float, pauses: t.Sequence[float] = PAUSES) -> t.Iterator[None]:
    """Yield at once, after each pause, and a last time when ``seconds`` are over.

    The last pause repeats.
    """
    end = time.monotonic() + seconds
    for pause in itertools.chain(pauses, itertools.repeat(pauses[-1])):
        yield
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(pause, left))


def wait_while(
    find_missing: t.Callable[[], str | t.Sequence[str]],
    what: str,
    seconds: float,
    pauses: t.Sequence[float] = PAUSES,
) -> None:
    """Wait until nothing is missing. NimError, which begins with ``what``, after ``seconds``."""
    missing: str | t.Sequence[str] = ""
    for _turn in poll(seconds, pauses):
        missing = find_missing()
        if not missing:
            return
    shown = missing if isinstance(missing, str) else name_some(missing, _MAX_SHOWN)
    raise NimError(f"{what} after {seconds:g} s: {shown}")
