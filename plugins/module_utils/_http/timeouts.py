# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Limits the time that a pass waits for external servers: registries and model servers.

A short wait is always allowed. A server that needs longer counts as slow, and the pass waits for it
only if a slot of `slots` is free. All requests of a pass share its time.
"""

from __future__ import annotations

import time
import typing as t

from .slots import Slots
from .transport import Pending

FREE_SECONDS = 0.3

BUSY = "no immediate answer, and other servers take precedence; retried later"
"""Message for a server that we did not wait for."""

_Answer = t.TypeVar("_Answer")


class BusyError(Exception):
    """The request was abandoned in favor of others; a later pass may repeat it."""


class Patience:
    """The waiting time of one pass for a namespace's servers; not shared without ``slots``."""

    def __init__(
        self,
        namespace: str = "",
        slots: Slots | None = None,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._namespace, self._slots, self._clock = namespace, slots, clock
        self._waited = 0.0
        self._has_slot = False

    def __enter__(self) -> Patience:
        return self

    def __exit__(self, *_: object) -> None:
        if self._slots and self._has_slot:
            self._slots.release()

    @property
    def is_slow(self) -> bool:
        """Whether this pass has waited longer than the free time."""
        return self._waited > FREE_SECONDS

    def wait(self, pending: Pending[_Answer], seconds: float) -> _Answer:
        """The answer; TimeoutError after ``seconds``, `BusyError` if this pass must not wait."""
        if self._slots is None:
            return pending.wait(seconds)
        left = seconds - self._waited
        if left <= 0:
            raise BusyError
        free = min(left, max(0.0, FREE_SECONDS - self._waited))
        try:
            return self._spend(pending, free)
        except TimeoutError:
            if not self._can_wait():
                raise BusyError from None
        try:
            return self._spend(pending, left - free)
        except TimeoutError:
            if left < seconds:  # the time of the pass ran out, not that of the request
                raise BusyError from None
            raise

    def _can_wait(self) -> bool:
        if not self._has_slot:
            self._has_slot = self._slots is not None and self._slots.take(self._namespace)
        return self._has_slot

    def _spend(self, pending: Pending[_Answer], seconds: float) -> _Answer:
        begin = self._clock()
        try:
            return pending.wait(seconds)
        finally:
            self._waited += self._clock() - begin
