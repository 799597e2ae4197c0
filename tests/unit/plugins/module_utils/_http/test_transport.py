# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time

import pytest
import urllib3
from ansible_collections.nimops.nim.plugins.module_utils._http.transport import explain, within


def test_within_returns_result():
    assert within(5, lambda: "done") == "done"


def test_within_raises_error():
    with pytest.raises(KeyError, match="x"):
        within(5, lambda: {}["x"])


def test_within_abandons_late_work():
    release = threading.Event()
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        within(0.05, release.wait)
    release.set()
    assert time.monotonic() - begin < 2


def wrapped(outer, inner):
    try:
        raise outer from inner
    except Exception as error:
        return error


EXPLAIN_CASES = {
    "refused": (ConnectionRefusedError(111, "Connection refused"), "connection refused"),
    "wrapped twice": (
        urllib3.exceptions.MaxRetryError(
            None,
            "/x",
            wrapped(
                urllib3.exceptions.NewConnectionError(None, "pool: failed: [Errno 113] x"),
                OSError(113, "No route to host"),
            ),
        ),
        "no route to host",
    ),
    "closed": (
        urllib3.exceptions.ProtocolError(
            "Connection aborted.", http.client.RemoteDisconnected("Remote end closed")
        ),
        "connection closed without an answer",
    ),
    "garbage": (
        urllib3.exceptions.ProtocolError("Connection aborted.", http.client.BadStatusLine("hi")),
        "the answer is not HTTP",
    ),
    "garbage is not quoted": (
        wrapped(http.client.BadStatusLine("x"), ValueError("invalid literal: 'x'")),
        "the answer is not HTTP",
    ),
    "no control characters": (ValueError("a\x1b[31m\nb"), "a[31mb"),
    "name": (socket.gaierror(-2, "Name or service not known"), "the host name is not known"),
    "late": (TimeoutError(), "no complete answer in time"),
    "a read was late": (TimeoutError("timed out"), "no complete answer in time"),
    "no TLS": (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version"), "TLS failed:"),
    "other": (ValueError("odd"), "odd"),
    "silent": (ValueError(), "ValueError"),
    "long": (ValueError("x" * 999), "x" * 300),
}


@pytest.mark.parametrize(("error", "text"), EXPLAIN_CASES.values(), ids=EXPLAIN_CASES)
def test_explain(error, text):
    assert explain(error).startswith(text)
    assert len(explain(error)) <= max(len(text), 80)


def test_explain_loop_of_errors():
    left, right = ValueError("left"), ValueError("right")
    left.__cause__, right.__cause__ = right, left
    assert explain(left) in ("left", "right")
