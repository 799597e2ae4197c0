# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Progress on stderr, and waiting."""

from __future__ import annotations

import sys
import time
import typing as t

from .errors import HarnessError

T = t.TypeVar("T")

_BEGAN = time.monotonic()


def say(text: str) -> None:
    """Print a line of progress, with the seconds since the program began."""
    print(f"{time.monotonic() - _BEGAN:7.1f} s  {text}", file=sys.stderr, flush=True)


class Deadline:
    """A time limit, counted from now."""

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
            more = f" ({state})" if state else ""
            raise HarnessError(f"{self._what}: not within {self._seconds:g} s{more}")


def wait_until(
    is_so: t.Callable[[], T],
    what: str,
    seconds: float,
    *checks: t.Callable[[], object],
    pause: float = 0.2,
) -> T:
    """The first true result of `is_so`; HarnessError when the time is up.

    Each of `checks` is called between two attempts, and may raise an error.
    """
    deadline = Deadline(seconds, what)
    while not (found := is_so()):
        for check in checks:
            check()
        deadline.check()
        time.sleep(pause)
    return found


def poll(
    is_so: t.Callable[[], object],
    seconds: float,
    *checks: t.Callable[[], object],
    pause: float = 0.1,
) -> float | None:
    """Seconds until it is so; None if that takes longer. `checks` as in wait_until."""
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > seconds:
            return None
        for check in checks:
            check()
        time.sleep(pause)
    return time.monotonic() - began


class Every:
    """A timer that is due at most once in so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last = time.monotonic()

    def is_due(self) -> bool:
        if time.monotonic() - self._last < self._seconds:
            return False
        self._last = time.monotonic()
        return True
