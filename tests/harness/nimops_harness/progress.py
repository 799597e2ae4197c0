# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What is said to the one who waits: progress goes to stderr, results to stdout."""

from __future__ import annotations

import sys
import time

from .errors import HarnessError

_BEGAN = time.monotonic()


def say(text: str) -> None:
    """One line of progress, with the seconds since the program began."""
    print(f"{time.monotonic() - _BEGAN:7.1f} s  {text}", file=sys.stderr, flush=True)


class Deadline:
    """How long something may take, counted from now."""

    def __init__(self, seconds: float, what: str) -> None:
        self._end = time.monotonic() + seconds
        self._seconds = seconds
        self._what = what

    @property
    def left(self) -> float:
        """Seconds that are left, 0 when over."""
        return max(0.0, self._end - time.monotonic())

    def check(self, state: str = "") -> None:
        """HarnessError, with the state, once the time is up."""
        if not self.left:
            said = f" ({state})" if state else ""
            raise HarnessError(f"{self._what}: not within {self._seconds:g} s{said}")


class Every:
    """Says True at most once in so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = time.monotonic()

    def is_due(self) -> bool:
        if time.monotonic() - self._last < self._seconds:
            return False
        self._last = time.monotonic()
        return True
