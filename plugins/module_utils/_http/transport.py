# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Time limits and short error messages for requests to external servers."""

from __future__ import annotations

import http.client
import queue
import socket
import ssl
import threading
import typing as t
from urllib.parse import SplitResult

from .._base.printable import printable

try:
    import urllib3
except ImportError:  # every file must import on a bare Python; Client reports the missing package
    urllib3 = None  # type: ignore[assignment]

_MAX_TEXT = 300
_MAX_DEPTH = 8

LATE = "no complete answer in time"
"""The message of `explain` for a timeout."""

_Answer = t.TypeVar("_Answer")


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order to try them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


def connect_to(address: str, url: SplitResult, port: int, context: ssl.SSLContext | None) -> t.Any:
    """Connections to exactly this address, even if the URL's host now resolves differently.

    TLS verifies the host name. The request must also contain the host.
    """
    where = f"[{address}]" if ":" in address else address
    if url.scheme == "http":
        return urllib3.HTTPConnectionPool(where, port)
    return urllib3.HTTPSConnectionPool(
        where, port, ssl_context=context, server_hostname=url.hostname
    )


def target_of(url: SplitResult) -> str:
    """The request target for a server."""
    return url._replace(scheme="", netloc="", fragment="").geturl() or "/"


class Pending(t.Generic[_Answer]):
    """Work in its own thread, whose result can be awaited.

    Socket timeouts limit a single read, but neither a DNS lookup nor a peer that sends byte by
    byte. Late work is abandoned in a daemon thread, which ends with the process.
    """

    def __init__(self, work: t.Callable[[], _Answer]) -> None:
        self._answers: queue.SimpleQueue[tuple[list[_Answer], Exception | None]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def wait(self, seconds: float) -> _Answer:
        """The result or exception of the work; TimeoutError after ``seconds``.

        After a TimeoutError, it can be called again.
        """
        try:
            answer, error = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if error:
            raise error
        return answer[0]

    def _run(self, work: t.Callable[[], _Answer]) -> None:
        try:
            self._answers.put(([work()], None))
        except Exception as error:  # passed to the waiting thread
            self._answers.put(([], error))


def within(seconds: float, work: t.Callable[[], _Answer]) -> _Answer:
    """The result or exception of ``work``; TimeoutError after ``seconds``."""
    return Pending(work).wait(seconds)


def explain(error: BaseException) -> str:
    """A short description of an error, such as `connection refused`, without addresses and URLs."""
    for _depth in range(_MAX_DEPTH):
        below = _below(error)
        if below is None:
            break
        error = below
    return printable(_words(error), _MAX_TEXT)


def _below(error: BaseException) -> BaseException | None:
    """The error that this one wraps; None for bad HTTP, whose cause quotes the server's data."""
    if isinstance(error, http.client.HTTPException):
        return None
    context = None if error.__suppress_context__ else error.__context__
    candidates = (getattr(error, "reason", None), error.__cause__, *error.args, context)
    return next((item for item in candidates if isinstance(item, BaseException)), None)


def _words(error: BaseException) -> str:
    for kind, words in _WORDS:
        if isinstance(error, kind) and (text := words(error)):
            return text
    return str(error) or type(error).__name__


_WORDS: tuple[tuple[type[BaseException], t.Callable[[t.Any], str]], ...] = (
    (ssl.SSLCertVerificationError, lambda e: f"the certificate is not valid: {e.verify_message}"),
    (ssl.SSLError, lambda e: f"TLS failed: {getattr(e, 'reason', None) or e}"),
    (http.client.RemoteDisconnected, lambda _error: "connection closed without an answer"),
    (http.client.IncompleteRead, lambda _error: "connection closed before the end of the answer"),
    (http.client.HTTPException, lambda _error: "the answer is not HTTP"),
    (socket.gaierror, lambda _error: "the host name is not known"),
    (OSError, lambda e: (e.strerror or "").lower()),
    (TimeoutError, lambda _error: LATE),
)
"""The first type that matches and has a message wins."""
