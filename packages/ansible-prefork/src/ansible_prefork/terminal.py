# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A pseudo-terminal whose two ends are in the same process.

The play's own output to sys.stdout and sys.stderr bypasses the kernel. Output of child processes, and other output to
the descriptors, goes through the kernel and is read in the order in which it was written.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import fcntl
import io
import os
import select
import termios
import threading
from collections.abc import Callable
from typing import Any

from ptyprocess import ptyprocess  # type: ignore[import-untyped]

DIMENSIONS = (24, 80)


class Terminal:
    """Passes its output as text to ``show``, as pexpect does."""

    def __init__(self, show: Callable[[str], object]) -> None:
        self.owner = os.getpid()
        self.problem: BaseException | None = None
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.RLock()
        self._is_open = True
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        ptyprocess._setwinsize(self.slave, *DIMENSIONS)
        ptyprocess._setecho(self.slave, False)

    def attach(self) -> None:
        """Make this the terminal of the session, and the descriptors 0, 1 and 2."""
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        for number in range(3):
            os.dup2(self.slave, number)
        # Without this thread, a child process that fills the kernel's buffer would wait for this process forever.
        threading.Thread(target=self._follow, name="prefork-terminal", daemon=True).start()

    def detach(self) -> None:
        """Show the rest and release the terminal: as at the end of a session, its remaining processes get SIGHUP.

        This process must ignore that signal.
        """
        with self._lock:
            self._drain()
            self._is_open = False
        fcntl.ioctl(self.slave, termios.TIOCNOTTY)

    def write(self, data: bytes) -> None:
        """Show data after all earlier output, with the line ends of a terminal."""
        with self._lock:
            self._drain()
            self._pass_on(data.replace(b"\n", b"\r\n"))

    def _follow(self) -> None:
        poll = select.poll()
        poll.register(self.master, select.POLLIN)
        while self._is_open:
            poll.poll()
            with self._lock:
                self._drain()

    def _drain(self) -> None:
        """Read all available output; a read waits until the kernel has moved it from one end to the other."""
        with contextlib.suppress(OSError):
            while self._is_open:
                self._pass_on(os.read(self.master, 1 << 16))

    def _pass_on(self, data: bytes) -> None:
        if self.problem is not None:
            return
        try:
            self._show(self._decoder.decode(data))
        except BaseException as problem:
            # This ends ansible-runner after the play has noticed that its terminal failed.
            self.problem = problem

    def make_output(self, number: int, mode: str, closefd: bool) -> io.FileIO:
        """The raw file below a standard stream."""
        if mode == "r":
            return io.FileIO(number, mode, closefd=closefd)
        output = _Output(number, mode, closefd=closefd)
        output.terminal = self
        return output


class _Output(io.FileIO):
    """One of the descriptors of the terminal; a forked process writes to it as to any other."""

    terminal: Terminal

    def write(self, data: Any) -> int:
        terminal = self.terminal
        if os.getpid() != terminal.owner:
            return super().write(data) or 0
        if terminal.problem is not None:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        terminal.write(bytes(data))
        return len(data)
