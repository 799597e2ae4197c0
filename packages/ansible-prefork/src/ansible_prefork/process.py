# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""Make a fork start and end like a separate process."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import mmap
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import NoReturn

PR_SET_PDEATHSIG = 1
# A run is short and its parent's objects are frozen. By default, the collector would run every 700 allocations.
COLLECTOR_THRESHOLDS = (20_000, 50, 100)
# The exit code of the interpreter if it cannot flush its buffers.
FLUSH_FAILED = 120
HUGE_PAGE = 2 * 1024 * 1024
MADV_COLLAPSE = 25
_libc = ctypes.CDLL(None)


def use_huge_pages() -> None:
    """Make the kernel use pages of 2 MiB for this process, so that a fork copies its page tables faster.

    A fork that writes to such a page still copies only 4 KiB of it. Kernels before 6.1 ignore this.
    """
    with open("/proc/self/maps") as maps:
        areas = [line.split() for line in maps]
    for span, rights, *_others, name in ([*area, ""][:6] for area in areas):
        if not rights.startswith("rw-p") or name not in ("", "[heap]"):
            continue
        begin, end = (int(address, 16) for address in span.split("-"))
        begin, end = -(-begin // HUGE_PAGE) * HUGE_PAGE, end // HUGE_PAGE * HUGE_PAGE
        if begin < end:
            _libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_COLLAPSE)


def die_with_parent(parent: int) -> None:
    """Make this process die with its parent, whose process id is ``parent``."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class ExitReport:
    """Reports a fork's exit code to its parent before the kernel has freed the fork's memory.

    That takes milliseconds, in which the fork does nothing that a client would have to wait for.
    """

    def __init__(self) -> None:
        self._parent = os.getpid()
        self._shared = mmap.mmap(-1, 2)

    def send(self, code: int) -> None:
        """Report the exit code. In the fork, after all output is written: close all descriptors and wake the parent."""
        os.closerange(0, 1 << 20)
        self.set(code)
        os.kill(self._parent, signal.SIGCHLD)

    def set(self, code: int) -> None:
        """Record the exit code without waking the parent."""
        self._shared[:] = bytes((1, code))

    def receive(self) -> int | None:
        """The exit code if the fork reported it, or None. Called in the parent."""
        given, code = self._shared[:]
        return code if given else None


def call(body: Callable[[], int | None]) -> tuple[int, bool]:
    """Run the body as the interpreter runs a program; its exit code, and whether it was interrupted."""
    try:
        return body() or 0, False
    except SystemExit as end:
        return _exit_code(end), False
    except KeyboardInterrupt:
        traceback.print_exc()
        return 1, True
    except BaseException:
        traceback.print_exc()
        return 1, False


def exit_with(body: Callable[[], int | None], report: Callable[[int], None]) -> NoReturn:
    """Run the body as the interpreter runs a program, report its exit code, and end the process likewise."""
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    code, interrupted = call(body)
    if not finish(atexit._run_exitfuncs):
        code = FLUSH_FAILED
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    code &= 0xFF
    with contextlib.suppress(BaseException):
        report(code)
    os._exit(code)


def _exit_code(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code
    print(end.code, file=sys.stderr)
    return 1


def finish(run_exit_functions: Callable[[], object]) -> bool:
    """Do the steps of the interpreter's exit, except freeing its memory; False if output was lost."""
    for step in (threading._shutdown, run_exit_functions):  # type: ignore[attr-defined]
        with contextlib.suppress(BaseException):
            step()
    try:
        sys.stdout.flush()
        flushed = True
    except BaseException as problem:
        flushed = False
        _report_unraisable(problem)
    try:
        sys.stderr.flush()
    except BaseException:
        return False
    return flushed


def _report_unraisable(problem: BaseException) -> None:
    where = "on flushing sys.stdout:" if sys.version_info >= (3, 13) else f"in: {sys.stdout!r}"
    trace = problem.__traceback__ and problem.__traceback__.tb_next
    text = "".join(traceback.format_exception(type(problem), problem, trace))
    with contextlib.suppress(Exception):
        sys.stderr.write(f"Exception ignored {where}\n{text}")
