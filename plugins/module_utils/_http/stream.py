# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Answers that are read in pieces while they arrive, bounded in time and size."""

from __future__ import annotations

import queue
import threading
import time
import typing as t

from .transport import LATE, explain

_QUEUED = 64
"""Pieces that wait for their reader; then the server waits as well."""
_PIECE, _SMALL_PIECE = 1 << 16, 1 << 6
"""Largest piece; without chunks a read waits until the piece is complete."""
_CHECK_SECONDS = 0.5

Send = t.Callable[[], t.Any]
"""Sends a request, and returns urllib3's response without having read its body."""


class StreamError(Exception):
    """The answer is incomplete, or larger than allowed. The message is safe to show."""


class Stream:
    """An answer: iterate over the pieces of its body.

    A thread reads, so that neither a DNS lookup nor a server that sends byte by byte delays the
    reader beyond its deadline. Raises TimeoutError after the deadline, and `StreamError`.
    """

    def __init__(self, send: Send, seconds: float | None = None, limit: int | None = None) -> None:
        """Send and await the head. ``seconds``, ``limit``: of the whole answer, None for none."""
        self._end = None if seconds is None else time.monotonic() + seconds
        self._limit, self._size = limit, 0
        self._pieces: queue.Queue[t.Any] = queue.Queue(_QUEUED)
        self._is_over = threading.Event()
        threading.Thread(target=self._run, args=(send,), daemon=True).start()
        head = self._next()
        self.status = int(head.status)
        self.content_type = str(head.headers.get("Content-Type") or "")

    def __iter__(self) -> t.Iterator[bytes]:
        while (piece := self._next()) is not None:
            self._size += len(piece)
            if self._limit is not None and self._size > self._limit:
                self.close()
                raise StreamError(f"the answer is larger than {self._limit} bytes")
            yield piece

    def read(self) -> bytes:
        """The whole body."""
        return b"".join(self)

    def read_start(self, size: int) -> bytes:
        """The first bytes of the body, as far as they can be read, and no more."""
        content = b""
        try:
            for piece in self:
                content += piece
                if len(content) >= size:
                    break
        except StreamError:
            pass
        finally:
            self.close()
        return content[:size]

    def close(self) -> None:
        """Read no further. The thread ends at its next piece, or with the process."""
        self._is_over.set()

    def _next(self) -> t.Any:
        left = None if self._end is None else self._end - time.monotonic()
        try:
            found = self._pieces.get(timeout=None if left is None else max(left, 0))
        except queue.Empty:
            self.close()
            raise TimeoutError(LATE) from None
        if isinstance(found, Exception):
            raise _translate(found) from found
        return found

    def _run(self, send: Send) -> None:
        try:
            response = send()
            try:
                self._put(response)
                size = _PIECE if response.chunked else _SMALL_PIECE
                for piece in response.stream(size, decode_content=False):
                    if piece and not self._put(piece):
                        return
            finally:
                response.close()
            self._put(None)
        except Exception as error:  # passed to the reader
            self._put(error)

    def _put(self, item: t.Any) -> bool:
        """Pass an item to the reader; False if it is gone."""
        while not self._is_over.is_set():
            try:
                self._pieces.put(item, timeout=_CHECK_SECONDS)
            except queue.Full:
                continue
            return True
        return False


def _translate(error: Exception) -> Exception:
    text = explain(error)
    return TimeoutError(text) if text == LATE else StreamError(text)
