# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http import model_server
from ansible_collections.nimops.nim.plugins.module_utils._http.stream import StreamError

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def stream(url, body=None, seconds=5.0, limit=1000):
    return model_server.stream(url, body, seconds=seconds, limit=limit)


STREAMS = {
    "chunked": ([CHUNKED + b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"], [b"a", b"bc"]),
    "with a length": ([HEAD + b"Content-Length: 3\r\n\r\nabc"], [b"abc"]),
    "until closed": ([HEAD + b"\r\n", b"a" * 100], [b"a" * 64, b"a" * 36]),
    "empty": ([HEAD + b"Content-Length: 0\r\n\r\n"], []),
    "compressed without a request": (
        [HEAD + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"],
        [b"abc"],
    ),
}


@pytest.mark.parametrize(("chunks", "pieces"), STREAMS.values(), ids=STREAMS)
def test_stream_pieces(raw, chunks, pieces):
    found = stream(raw(chunks))
    assert (found.status, found.content_type) == (200, "text/event-stream")
    assert list(found) == pieces


def test_stream_piece_before_the_end(raw):
    pieces = iter(stream(raw([CHUNKED + b"1\r\na\r\n", b"1\r\nb\r\n0\r\n\r\n"], pause=0.2)))
    assert next(pieces) == b"a"
    begun = time.monotonic()
    assert list(pieces) == [b"b"]
    assert time.monotonic() - begun > 0.1


FAULTS = {
    "too large": ([HEAD + b"\r\n" + b"x" * 1001], StreamError, "larger than 1000 bytes"),
    "broken": ([CHUNKED + b"5\r\nab"], StreamError, "connection closed before the end"),
    "no chunk": ([CHUNKED + b"\x1b[31m\r\n"], StreamError, "connection closed before the end"),
}


@pytest.mark.parametrize(("chunks", "kind", "text"), FAULTS.values(), ids=FAULTS)
def test_stream_incomplete(raw, chunks, kind, text):
    found = stream(raw(chunks))
    with pytest.raises(kind, match=text):
        found.read()


@pytest.mark.parametrize("chunks", [[], [b"SSH-2.0-OpenSSH\r\n\r\n"]])
def test_stream_no_answer(raw, chunks):
    with pytest.raises(StreamError, match=r"closed without an answer|not HTTP"):
        stream(raw(chunks))


@pytest.mark.parametrize("is_headless", [True, False], ids=["no head", "byte by byte"])
def test_stream_deadline(raw, is_headless):
    drops = [HEAD[at : at + 1] for at in range(len(HEAD))]
    url = raw(drops if is_headless else [CHUNKED, *[b"1\r\na\r\n"] * 100], pause=0.1)
    begun = time.monotonic()
    with pytest.raises(TimeoutError, match="no complete answer in time"):
        stream(url, seconds=0.5).read()
    assert time.monotonic() - begun < 2


def test_stream_post(serve, answer):
    server = serve(lambda _request: answer(201, {"a": 1}))
    found = stream(server.url, {"b": 2})
    assert (found.status, found.read()) == (201, b'{"a": 1}')
    (request,) = server.requests
    assert (request.method, request.body) == ("POST", {"b": 2})
    assert request.headers["content-type"] == "application/json"


def test_stream_follows_no_redirect(serve, answer):
    server = serve(lambda _request: answer(307, "", {"Location": "http://127.0.0.1:1/"}))
    assert stream(server.url, {"b": 2}).status == 307
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("chunks", "size", "expected"),
    [
        ([HEAD + b"Content-Length: 9\r\n\r\nabcdefghi"], 4, b"abcd"),
        ([HEAD + b"Content-Length: 9\r\n\r\nabc"], 4, b"abc"),
        ([CHUNKED + b"2\r\nab\r\n9\r\nc"], 4, b"ab"),
        ([CHUNKED + b"2\r\nab\r\n0\r\n\r\n"], 4, b"ab"),
    ],
)
def test_stream_start(raw, chunks, size, expected):
    assert stream(raw(chunks)).read_start(size) == expected
