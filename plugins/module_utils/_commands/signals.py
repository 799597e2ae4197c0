# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Signals to a command that cleans up before it ends."""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import sys
import threading
import typing as t
from contextlib import contextmanager

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@contextmanager
def raise_on_signals() -> t.Iterator[None]:
    """A context in which a signal lets the command clean up before it exits.

    Since ansible-core 2.19 a signal ends a worker immediately; here the first one raises an
    exception.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: t.Any) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    _end_with_parent()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_with_parent() -> None:
    """Make Linux terminate this worker with its parent: ansible-core 2.18 does not."""
    if sys.platform == "linux" and multiprocessing.parent_process() is not None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
