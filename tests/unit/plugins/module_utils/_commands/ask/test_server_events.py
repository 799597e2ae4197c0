# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask import server_events
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.server_events import (
    EventReader,
)

STREAMS = {
    "line feeds": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "carriage returns": (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    "both": (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    "several lines": (b"data: a\ndata:b\ndata\n\n", ["a\nb\n"]),
    "one space is removed": (b"data:  a\n\n", [" a"]),
    "other fields": (b": comment\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", ["a"]),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
    "no data": (b"event: x\n\n\n\n: ping\n\n", []),
    "unfinished": (b"data: a\n\ndata: b\n", ["a"]),
    "not UTF-8": (b"data: \xff\xc3\xa9\n\n", ["\ufffdé"]),
    "other line ends are data": ("data: a\x85b\u2028c\x0bd\n\n".encode(), ["a\x85b\u2028c\x0bd"]),
}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("content", "events"), STREAMS.values(), ids=STREAMS)
def test_feed(content, events, size):
    reader = EventReader()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    found = [event for piece in pieces for event in reader.feed(piece)]
    # A carriage return ends a line only when it is clear that no line feed follows.
    found += list(reader.feed(b"\n")) if content.endswith(b"\r") else []
    assert found == events


@pytest.mark.parametrize(
    "content",
    [b"<html>\n", b'{"choices": []}\n', b"Data: a\n", b" data: a\n", b"data : a\n", b"\x1b[2J\n"],
)
def test_feed_no_field(content):
    with pytest.raises(ValueError, match="it has a line that is not a field of an event"):
        list(EventReader().feed(content))


@pytest.mark.parametrize("content", [b"data: aaaaaa", b"data: aaa\ndata: aaaaa\n", b"data\n" * 99])
def test_feed_large_event(monkeypatch, content):
    monkeypatch.setattr(server_events, "MAX_EVENT", 10)
    with pytest.raises(ValueError, match="an event of more than 10 characters"):
        [None for at in range(len(content)) for _event in EventReader().feed(content)]
