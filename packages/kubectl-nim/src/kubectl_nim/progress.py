# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""A line at the bottom of a terminal that shows that a command is still running."""

from __future__ import annotations

import sys
import threading
import time
import typing as t
from contextlib import contextmanager

_AFTER_SECONDS = 1.0


class Progress:
    """Appears a second after `running` begins, on stderr if it is a terminal."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._live: t.Any = None
        self._lock = threading.RLock()
        self._done = threading.Event()

    @contextmanager
    def running(self) -> t.Iterator[None]:
        """Show the line until the end of the block."""
        if sys.stderr is None or not sys.stderr.isatty():
            yield
            return
        thread = threading.Thread(target=self._show, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()

    @contextmanager
    def hidden(self) -> t.Iterator[None]:
        """Hide the line while the block prints something."""
        with self._lock:
            if self._live:
                self._live.stop()
            yield
            if self._live:
                self._live.start(refresh=True)

    def _show(self) -> None:
        if self._done.wait(_AFTER_SECONDS):
            return
        # rich takes longer to import than a short command takes
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        begun = time.monotonic() - _AFTER_SECONDS
        spinner = Spinner("dots")
        # Redirection would send data from stdout to stderr.
        live = Live(
            spinner,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        while True:
            with self._lock:
                spinner.update(text=Text(f"{self._name}: {int(time.monotonic() - begun)} s"))
                if not self._live:
                    live.start()
                    self._live = live
            if self._done.wait(1):
                break
        with self._lock:
            self._live = None
            live.stop()
